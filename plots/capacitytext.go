package plots

import (
	"fmt"
	"math"
	"strings"

	"lockcost/results"
)

// caption returns the paragraphs below a figure's title: what was driven, and
// on what; varied is the condition that the figure is of, "" for none.
func (s sweep) caption(varied, driven string, own ...string) []string {
	plan := s.record.Plan
	effect := "acquire and release only, nothing done under the lock"
	if plan.Effect == results.EffectCharge {
		effect = "under the lock an order is read and charged"
	}
	arrivals := ""
	if plan.Arrivals != "" {
		arrivals = plan.Arrivals + " arrivals"
	}
	facts := []string{driven, arrivals, effect}
	if plan.Keys > 0 {
		facts = append(facts, counted(plan.Keys, "key"))
	}
	if plan.Orders > 0 {
		facts = append(facts, counted(plan.Orders, "hot order"))
	}
	if plan.HoldNS > 0 {
		facts = append(facts, "held for "+durationTick(float64(plan.HoldNS))+" more")
	}
	return append([]string{joined(separator, facts...), s.place(varied)}, present(own)...)
}

// place says on what the paths were driven, and what that is not.
func (s sweep) place(varied string) string {
	env := s.record.Environment
	text := s.study(varied).place()
	if env.CPUs > 0 {
		text += separator + strings.TrimSpace(counted(env.CPUs, "CPU")+" "+bracketed(env.CPU))
	}
	return text
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// study is the record as if it were a run's, for what is said of both. Its
// paths are at the distances that were varied, or at the search's.
func (s sweep) study(varied string) *study {
	run := &results.Record{Environment: s.record.Environment, Plan: s.record.Plan}
	for _, p := range s.record.Points {
		switch {
		case p.Varied == nil && isTrip(varied):
			continue
		case p.Varied == nil:
		case p.Varied.Name != varied:
			continue
		case varied == "replica-rtt":
			p.ReplicaRTTNS = int64(p.Varied.Number)
		case varied == "client-rtt":
			p.ClientRTTNS = int64(p.Varied.Number)
		}
		run.Paths = append(run.Paths, p.Path)
	}
	return &study{record: run}
}

// alarm says in a few words that a record is not whole.
func (s sweep) alarm() string {
	if s.record.Interrupted {
		return "UNFINISHED: this is what is known so far"
	}
	return ""
}

// down names the nodes that were not there.
func (s sweep) down() string {
	if len(s.record.Down) == 0 {
		return ""
	}
	return "Down while all of this was measured: " + strings.Join(s.record.Down, ", ") + "."
}

// lookOf is the look of a path by its label. One that is not among the points
// is told from nobody.
func (s sweep) lookOf(label string) look {
	if l, ok := s.looks[label]; ok {
		return l
	}
	return look{color: black}
}

// rateText prints a rate with its unit, rounded to what can be read.
func rateText(perS float64) string {
	if perS >= 100 {
		perS = math.Round(perS)
	}
	return results.FormatRate(perS) + "/s"
}

// samplesText prints a range of counts of samples.
func samplesText(e extent) string {
	switch {
	case e.empty():
		return "no samples"
	case e.lo == e.hi:
		return grouped(int64(e.hi)) + " samples"
	}
	return grouped(int64(e.lo)) + " to " + grouped(int64(e.hi)) + " samples"
}

// between prints a range of counts with a noun, or the one count.
func between(least, most int, noun string) string {
	if least == most {
		return counted(most, noun)
	}
	return fmt.Sprintf("%d to %s", least, counted(most, noun))
}
