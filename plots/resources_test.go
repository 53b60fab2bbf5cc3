package plots

import (
	"slices"
	"strings"
	"testing"

	"lockcost/results"
)

func TestBarsAddUpRoles(t *testing.T) {
	of := func(cpu, in, out float64, replication *float64) results.Resources {
		return results.Resources{CPUNS: &cpu, BytesIn: &in, BytesOut: &out, ReplicationBytes: replication}
	}
	sent := 70.0
	row := resourceRow{roles: map[string]results.Resources{
		"driver": of(5, 1000, 1000, nil), "primary": of(10, 100, 20, &sent), "replica": of(3, 0, 0, &sent), "ledger": of(30, 200, 50, nil), "cache": of(2, 0, 0, nil),
	}}
	cpu, all := row.cpuBar(), row.bytesBar()
	var names []string
	for _, part := range cpu.parts {
		names = append(names, part.fill.name)
	}
	if want := []string{"driver", "primary", "replicas", "ledger", "others"}; cpu.total != 50 || cpu.lacks || !slices.Equal(names, want) {
		t.Errorf("CPU time %v of %q, want 50 of %q", cpu.total, names, want)
	}
	if all.total != 440 || len(all.parts) != 2 || all.parts[1].value != 70 {
		t.Errorf("bytes %+v, want 370 of clients and 70 once of the replication", all)
	}
	primary := row.roles["primary"]
	primary.CPUNS, primary.BytesOut = nil, nil
	row.roles["primary"] = primary
	if cpu, all := row.cpuBar(), row.bytesBar(); cpu.total != 40 || !cpu.lacks || all.total != 420 || !all.lacks {
		t.Errorf("without the primary's: %v and %v", cpu, all)
	}
}

func TestCellsSayWhatIsNotKnown(t *testing.T) {
	one, none := 1.024, 0.0
	syncs := func(r results.Resources) *float64 { return r.Fsyncs }
	for name, c := range map[string]struct {
		roles map[string]results.Resources
		want  string
	}{
		"known":   {map[string]results.Resources{"primary": {Fsyncs: &one}, "replica": {Fsyncs: &one}, "ledger": {Fsyncs: &one}}, "2.05"},
		"none":    {map[string]results.Resources{"primary": {Fsyncs: &none}}, "0"},
		"part":    {map[string]results.Resources{"primary": {Fsyncs: &one}, "replica": {}}, "≥ 1.02"},
		"unknown": {map[string]results.Resources{"primary": {}}, "?"},
		"no lock": {map[string]results.Resources{"driver": {}, "ledger": {Fsyncs: &one}}, "–"},
	} {
		if got := (resourceRow{roles: c.roles}).cell(false, syncs); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestResourcesAreOfTheStepThatIsMeant(t *testing.T) {
	for planned, want := range map[float64]float64{0: 0, 1100: 1000, 240: 250} {
		m := usualSweep(1)
		m.planned, m.varied = planned, nil
		record := m.record()
		if planned == 0 {
			want = *record.Paths[0].MaxRatePerS
		}
		points := newSweep(record).resourcePoints()
		if len(points) != 1 || points[0].RatePerS != want {
			t.Errorf("planned %v/s: %d points, want one at %v/s", planned, len(points), want)
		}
	}
}

func TestResourcesOfARun(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.profiles = 2, 1, m.profiles[2:5]
	record := m.record()
	for i := range record.Paths {
		for j := range record.Paths[i].Runs {
			record.Paths[i].Runs[j].Resources = resourcesOf(sweepPaths[0], 150e3)
		}
	}
	read := func(results.Path) ([]results.Interval, error) { return nil, nil }
	s, err := newStudy(record, read)
	if err != nil {
		t.Fatal(err)
	}
	if all := s.figures(); all[len(all)-1].name != "resources" {
		t.Errorf("resources are not drawn, but %v", all)
	}
	pages, err := resourcesPage(s)
	if err != nil || len(pages) != 1 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	svg, err := renderSVG(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	drawn := parsed(t, "resources", svg)
	checkTexts(t, "resources", drawn)
	checkWords(t, "resources", drawn, []string{"replica at 0 ms", "replica at 1 ms", "Means over 2 runs", "2000/s", "ledger", "driver"}, []string{"NaN"})

	without, err := newStudy(m.record(), read)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range without.figures() {
		if strings.HasPrefix(f.name, "resources") {
			t.Error("resources are drawn of runs that do not say what they used")
		}
	}
}
