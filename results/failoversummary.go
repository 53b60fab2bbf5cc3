package results

import (
	"math"
)

// Summarize fills in what follows from the runs of each scenario: the sums,
// the shares and the times, and what each window predicts and crash-steady
// measured. Phases and timelines do not follow from them; they stay. It reads
// nothing else, so that calling it again changes nothing.
func (f *Failover) Summarize() {
	for i := range f.Scenarios {
		f.Scenarios[i].summarize()
	}
	for i := range f.Windows {
		w := &f.Windows[i]
		w.PredictedLoss = -math.Expm1(-w.RatePerS * float64(w.Visible.MeanNS) / 1e9)
		w.Measured = f.measuredLoss(*w)
	}
}

// Count is the number of trials, of all scenarios, void ones included.
func (f *Failover) Count() (n int) {
	for _, s := range f.Scenarios {
		n += len(s.Runs)
	}
	return n
}

// Doubtful counts the entries that show nothing: those with trials of which
// every one was void.
func (f *Failover) Doubtful() (n int) {
	for _, s := range f.Scenarios {
		if len(s.Runs) > 0 && len(s.counted()) == 0 {
			n++
		}
	}
	return n
}

// counted are the trials that show something.
func (s Scenario) counted() []Trial {
	var trials []Trial
	for _, t := range s.Runs {
		if t.Void == "" {
			trials = append(trials, t)
		}
	}
	return trials
}

func (s *Scenario) summarize() {
	counted := s.counted()
	s.Trials, s.Void = len(s.Runs), len(s.Runs)-len(counted)
	s.Granted, s.Held, s.Unreplicated, s.Expired, s.FalseFailovers = 0, 0, 0, 0, 0
	s.Errors = map[string]int64{}
	for _, t := range counted {
		s.Granted += t.Granted
		s.Held += t.Held
		s.Unreplicated += t.Unreplicated
		s.Expired += t.Expired
		for kind, n := range t.Errors {
			s.Errors[kind] += n
		}
	}
	for _, t := range s.Runs {
		s.FalseFailovers += t.FalseFailovers
	}
	s.summarizeEvents(counted)
	s.summarizeTimes(counted)
}

// summarizeEvents counts an event only in trials that report it: fencing
// tokens cannot be repeated where none are given.
func (s *Scenario) summarizeEvents(counted []Trial) {
	s.Shares = map[Event]Share{}
	for _, event := range Events {
		sum, happened, of := int64(0), 0, 0
		for _, t := range counted {
			n, reported := t.Events[event]
			if !reported {
				continue
			}
			sum, of = sum+n, of+1
			if n > 0 {
				happened++
			}
		}
		*s.eventSum(event) = sum
		if of > 0 {
			s.Shares[event] = ShareOf(happened, of)
		}
	}
}

// eventSum is the field that an event of Events is added up in.
func (s *Scenario) eventSum(event Event) *int64 {
	switch event {
	case DoubleGrant:
		return &s.DoubleGrants
	case DoubleCharge:
		return &s.DoubleCharges
	case LostCharge:
		return &s.LostCharges
	case RepeatedToken:
		return &s.RepeatedTokens
	case RightfulRefused:
		return &s.RightfulRefused
	case OrphanedLock:
		return &s.OrphanedLocks
	case LostGrant:
		return &s.LostGrants
	case OutlivedLease:
		return &s.OutlivedLeases
	}
	return new(int64)
}

func (s *Scenario) summarizeTimes(counted []Trial) {
	s.Times = map[Moment]Level{}
	for _, moment := range Moments {
		var values []float64
		for _, t := range counted {
			if ns, ok := t.Times[moment]; ok {
				values = append(values, float64(ns))
			}
		}
		if len(values) > 0 {
			s.Times[moment] = level(values)
		}
	}
}

// steadyScenario is the crash under an even load, which the windows predict
// the losses of.
const steadyScenario = "crash-steady"

// measuredLoss is the share of trials that lost a grant in the plain
// scenario crash-steady with the window's path, round trip and rate; nil
// where there were none. A window's rate is of grants, a scenario's of
// acquisitions: in crash-steady each order is asked for twice and granted
// once, so that half its rate is granted.
func (f *Failover) measuredLoss(w Window) *Share {
	happened, of := 0, 0
	for _, s := range f.Scenarios {
		if s.Scenario != steadyScenario || s.Variant != "" || s.PathLabel() != w.Path ||
			s.ReplicaRTT != w.ReplicaRTT || !sameRate(s.RatePerS/2, w.RatePerS) {
			continue
		}
		share := s.Shares[LostGrant]
		happened, of = happened+share.Trials, of+share.Of
	}
	if of == 0 {
		return nil
	}
	return pointer(ShareOf(happened, of))
}

// sameRate allows for the rounding of a rate that was halved and doubled.
func sameRate(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(a, b) }
