package plots

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

func TestNinesScale(t *testing.T) {
	for _, c := range []struct{ quantile, nines float64 }{
		{0, 0}, {0.5, 0.30103}, {0.9, 1}, {0.99, 2}, {0.999, 3}, {0.9999, 4},
	} {
		if got := nines(c.quantile); math.Abs(got-c.nines) > 1e-5 {
			t.Errorf("nines(%v) = %v, want %v", c.quantile, got, c.nines)
		}
		if got := quantileAt(nines(c.quantile)); math.Abs(got-c.quantile) > 1e-12 {
			t.Errorf("quantileAt(nines(%v)) = %v", c.quantile, got)
		}
		if got := (ninesScale{}).Normalize(0, 0.9999, c.quantile); math.Abs(got-c.nines/4) > 1e-5 {
			t.Errorf("%v stands at %v of an axis to 99.99 %%, want %v", c.quantile, got, c.nines/4)
		}
	}
}

func TestScalesAreMonotonic(t *testing.T) {
	for name, c := range map[string]struct {
		scale  plot.Normalizer
		lo, hi float64
	}{
		"nines":  {ninesScale{}, 0, 0.9999},
		"log":    {logScale{}, 50e3, 2e9},
		"signed": {signedScale{linear: 1e4}, -1e6, 1e9},
	} {
		if lo, hi := c.scale.Normalize(c.lo, c.hi, c.lo), c.scale.Normalize(c.lo, c.hi, c.hi); lo != 0 || hi != 1 {
			t.Errorf("%s: the ends stand at %v and %v", name, lo, hi)
		}
		last := -1.0
		for i := range 1000 {
			at := c.scale.Normalize(c.lo, c.hi, c.lo+(c.hi-c.lo)*float64(i)/1000)
			if !(at > last) {
				t.Fatalf("%s: falls or stops at step %d: %v after %v", name, i, at, last)
			}
			last = at
		}
	}
	if at := (logScale{}).Normalize(100, 1000, 0); at != 0 {
		t.Errorf("0 stands at %v of a logarithmic axis, want its lower edge", at)
	}
}

func TestSignedScaleIsOddAndInverts(t *testing.T) {
	s := signedScale{linear: 1e4}
	for _, v := range []float64{-5e8, -1e4, -3, 0, 3, 1e4, 5e8} {
		if got := s.undo(s.apply(v)); math.Abs(got-v) > 1e-6*math.Abs(v) {
			t.Errorf("undo(apply(%v)) = %v", v, got)
		}
		if s.apply(v) != -s.apply(-v) {
			t.Errorf("apply(%v) is not the mirror of apply(%v)", v, -v)
		}
	}
}

// labels are those of the labelled ticks, in the order of their values.
func labels(ticks []plot.Tick) []string {
	slices.SortFunc(ticks, func(a, b plot.Tick) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		}
		return 0
	})
	var all []string
	for _, tick := range ticks {
		if !tick.IsMinor() {
			all = append(all, tick.Label)
		}
	}
	return all
}

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		ticker plot.Ticker
		lo, hi float64
		want   []string
	}{
		"latencies": {logTicks{12, durationTick}, 9e3, 110e3, []string{"10 µs", "20 µs", "50 µs", "100 µs"}},
		"around a millisecond": {
			logTicks{12, durationTick}, 0.4e6, 6e6, []string{"500 µs", "1 ms", "2 ms", "5 ms"}},
		"wide":         {logTicks{8, durationTick}, 50e3, 2e9, []string{"100 µs", "1 ms", "10 ms", "100 ms", "1 s"}},
		"very wide":    {logTicks{4, durationTick}, 5e3, 2e9, []string{"10 µs", "1 ms", "100 ms"}},
		"narrow":       {logTicks{5, ratioTick}, 0.93, 1.12, []string{"0.95×", "1×", "1.05×", "1.1×"}},
		"multiples":    {logTicks{8, ratioTick}, 0.8, 25, []string{"1×", "2×", "5×", "10×", "20×"}},
		"means":        {linearTicks{6, durationTick}, 0, 2.6e6, []string{"0", "500 µs", "1 ms", "1.5 ms", "2 ms", "2.5 ms"}},
		"twenty":       {linearTicks{3, durationTick}, 0, 45e6, []string{"0", "20 ms", "40 ms"}},
		"differences":  {linearTicks{5, signedDurationTick}, -1.2e6, 2.1e6, []string{"−1 ms", "0", "+1 ms", "+2 ms"}},
		"signed":       {signedTicks{9, 1e4, signedDurationTick}, -2e4, 2e6, []string{"−10 µs", "0", "+10 µs", "+100 µs", "+1 ms"}},
		"signed, wide": {signedTicks{5, 1e3, signedDurationTick}, -2e4, 2e9, []string{"−1 µs", "0", "+1 µs", "+1 ms", "+1 s"}},
		"nines":        {ninesTicks{}, 0, 0.9999, []string{"0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"}},
	} {
		got := labels(c.ticker.Ticks(c.lo, c.hi))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTickLabelsHaveNoExponent(t *testing.T) {
	for ns := 1.0; ns < 1e12; ns *= 10 {
		for _, m := range []float64{1, 2, 2.5, 5} {
			label := durationTick(m * ns)
			if slices.ContainsFunc([]rune(label), func(r rune) bool { return r == 'e' || r == 'E' }) || len(label) > 10 {
				t.Errorf("%v ns is labelled %q", m*ns, label)
			}
		}
	}
	if got := durationTick(1e6); got != "1 ms" {
		t.Errorf("1 ms is labelled %q", got)
	}
	if got := durationTick(-20e3); got != "−20 µs" {
		t.Errorf("-20 µs is labelled %q", got)
	}
}

func TestRoomyLeavesOutWhatWouldTouch(t *testing.T) {
	ticker := roomy{
		Ticker: plot.ConstantTicks{{Value: 0, Label: "first"}, {Value: 1, Label: "second"}, {Value: 10, Label: "third"}},
		scale:  plot.LinearScale{}, length: 100,
		width: func(string) float64 { return 20 },
	}
	if got := labels(ticker.Ticks(0, 10)); !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("labels %q", got)
	}
}

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct{ want, got []vg.Length }{
		"apart already": {[]vg.Length{30, 10, 50}, []vg.Length{30, 10, 50}},
		"one place":     {[]vg.Length{40, 40, 40}, []vg.Length{30, 40, 50}},
		"at the top":    {[]vg.Length{99, 98}, []vg.Length{100, 90}},
		"at the bottom": {[]vg.Length{1, 2}, []vg.Length{0, 10}},
	} {
		got := spread(c.want, 10, 0, 100)
		for i := range got {
			if math.Abs(float64(got[i]-c.got[i])) > 1e-9 {
				t.Errorf("%s: %v becomes %v, want %v", name, c.want, got, c.got)
				break
			}
		}
	}
	crowd := make([]vg.Length, 30)
	for i := range crowd {
		crowd[i] = vg.Length((i * 37) % 100)
	}
	placed := spread(crowd, 5, 0, 200)
	slices.Sort(placed)
	for i := 1; i < len(placed); i++ {
		if placed[i]-placed[i-1] < 5-1e-9 {
			t.Errorf("two labels are %v apart", placed[i]-placed[i-1])
		}
	}
}
