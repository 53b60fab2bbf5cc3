package load

import (
	"math"
	"testing"
	"time"
)

func slots(p Plan) (due []time.Duration) {
	s := newSchedule(p)
	for {
		slot, at, ok := s.next()
		if !ok {
			return due
		}
		if slot != int64(len(due)) {
			panic("slots are not in order")
		}
		due = append(due, at)
	}
}

func TestConstantScheduleOffersExactlyTheRate(t *testing.T) {
	for _, c := range []struct {
		rate             float64
		warmup, duration time.Duration
		warm, measured   int
	}{
		{1000, time.Second, 6 * time.Second, 1000, 6000},
		{7, 0, time.Second, 0, 7},
		{7, time.Second, time.Second, 7, 7},
		{100, time.Second, 3 * time.Second, 100, 300},
		{3, 500 * time.Millisecond, time.Second, 2, 3},
		{0.5, 0, 4 * time.Second, 0, 2},
		{333.333, 0, 3 * time.Second, 0, 1000},
	} {
		p := Plan{Rate: c.rate, Warmup: c.warmup, Duration: c.duration}
		due := slots(p)
		warm := 0
		for _, at := range due {
			if at < c.warmup {
				warm++
			}
		}
		if warm != c.warm || len(due)-warm != c.measured {
			t.Errorf("rate %v, warm-up %v, duration %v: %d + %d slots, want %d + %d",
				c.rate, c.warmup, c.duration, warm, len(due)-warm, c.warm, c.measured)
		}
	}
}

func TestConstantScheduleDoesNotDriftOrOverflow(t *testing.T) {
	c := &constant{rateMilli: rateMilli(1000)}
	for _, hours := range []int64{1, 24, 24 * 365} {
		slot := hours * 3600 * 1000
		if got, want := c.due(slot), time.Duration(hours)*time.Hour; got != want {
			t.Errorf("slot %d is due at %v, want %v", slot, got, want)
		}
	}
	third := &constant{rateMilli: rateMilli(3)}
	if got, want := third.due(3_000_000_001), 1_000_000_000*time.Second+333333333; got != want {
		t.Errorf("slot 3000000001 at 3/s is due at %v, want %v", got, want)
	}
}

// gaps returns the mean of the gaps in seconds and their coefficient of
// variation.
func gaps(due []time.Duration) (mean, variation float64) {
	var sum, squares float64
	n := float64(len(due) - 1)
	for i := 1; i < len(due); i++ {
		gap := (due[i] - due[i-1]).Seconds()
		sum += gap
		squares += gap * gap
	}
	mean = sum / n
	return mean, math.Sqrt(squares/n-mean*mean) / mean
}

func TestGapsAreEvenOrExponential(t *testing.T) {
	_, constant := gaps(slots(Plan{Rate: 1000, Duration: 20 * time.Second}))
	if constant > 1e-3 {
		t.Errorf("constant arrivals: coefficient of variation %v, want about 0", constant)
	}
	due := slots(Plan{Rate: 1000, Duration: 20 * time.Second, Arrivals: Poisson, Seed: 1})
	mean, poisson := gaps(due)
	if math.Abs(poisson-1) > 0.05 {
		t.Errorf("Poisson arrivals: coefficient of variation %v, want about 1", poisson)
	}
	if math.Abs(mean-1e-3) > 5e-5 {
		t.Errorf("Poisson arrivals: mean gap %v s, want about 1 ms", mean)
	}
}

func TestPoissonScheduleIsGivenByItsSeed(t *testing.T) {
	p := Plan{Rate: 1000, Duration: time.Second, Arrivals: Poisson, Seed: 7}
	first, second := slots(p), slots(p)
	p.Seed = 8
	other := slots(p)
	if len(first) != len(second) || first[100] != second[100] {
		t.Error("the same seed gave another schedule")
	}
	if first[100] == other[100] {
		t.Error("another seed gave the same schedule")
	}
}

func TestCountEndsTheWindow(t *testing.T) {
	for _, arrivals := range []Arrivals{Constant, Poisson} {
		p := Plan{Rate: 1000, Warmup: 100 * time.Millisecond, Count: 250, Arrivals: arrivals}
		measured := 0
		for _, at := range slots(p) {
			if at >= p.Warmup {
				measured++
			}
		}
		if got, want := Slots(p), int64(len(slots(p))); got != want {
			t.Errorf("%s: Slots is %d, want %d", arrivals, got, want)
		}
		if measured != 250 {
			t.Errorf("%s: %d slots in the window, want 250", arrivals, measured)
		}
	}
}
