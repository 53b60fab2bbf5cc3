package planning

import (
	"fmt"
	"slices"
	"strings"

	"lockcost/results"
)

// Source is one folder of measurements: exactly one of its records is there.
type Source struct {
	Dir      string
	Run      *results.Record
	Capacity *results.Capacity
	Failover *results.Failover
}

// Open reads a folder of `lockcost run`, `sweep` or `failover`. Its error
// names the folder.
func Open(dir string) (s Source, err error) {
	s.Dir = dir
	switch {
	case results.IsCapacity(dir):
		s.Capacity, err = results.LoadCapacity(dir)
	case results.IsFailover(dir):
		if s.Failover, err = results.LoadFailover(dir); err == nil {
			s.Failover.Summarize()
		}
	default:
		s.Run, err = results.Load(dir)
	}
	if err != nil {
		return s, fmt.Errorf("planning from %s: %w", dir, err)
	}
	return s, nil
}

// environment is where the source was measured.
func (s Source) environment() results.Environment {
	switch {
	case s.Run != nil:
		return s.Run.Environment
	case s.Capacity != nil:
		return s.Capacity.Environment
	}
	return s.Failover.Environment
}

// plan is what a run or a sweep was asked for.
func (s Source) plan() results.Plan {
	if s.Run != nil {
		return s.Run.Plan
	}
	return s.Capacity.Plan
}

func (s Source) down() []string {
	if s.Capacity == nil {
		return nil
	}
	return s.Capacity.Down
}

// traits are what sources that are put together must have in common, by name.
// Of fault experiments it is the machine alone, as each scenario has servers of
// its own.
func (s Source) traits() map[string]string {
	e := s.environment()
	traits := map[string]string{"machine": fmt.Sprintf("%s with %d CPUs", e.CPU, e.CPUs)}
	if s.Failover != nil {
		return traits
	}
	p := s.plan()
	traits["effect"], traits["arrivals"], traits["durability"] = string(p.Effect), p.Arrivals, p.Durability
	traits["rows of a transaction"] = fmt.Sprint(p.TxRows)
	traits["hold"] = results.FormatDuration(p.HoldNS)
	traits["keys"] = fmt.Sprintf("keys %d, zipf %g, orders %d", p.Keys, p.Zipf, p.Orders)
	if len(s.down()) > 0 { // its servers are not all there
		return traits
	}
	count := map[string]int{}
	var kinds []string
	for _, server := range e.Servers {
		kind := server.Kind + " " + server.Version
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", count[kind], kind)
	}
	traits["servers"] = strings.Join(kinds, ", ")
	return traits
}

// Differences are what keeps the sources from being put together, in words.
func Differences(sources []Source) (differences []string) {
	first := map[string]Source{}
	for _, s := range sources {
		traits := s.traits()
		names := make([]string, 0, len(traits))
		for name := range traits {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			before, seen := first[name]
			if !seen {
				first[name] = s
				continue
			}
			if was := before.traits()[name]; was != traits[name] {
				differences = append(differences, fmt.Sprintf("%s: %q in %s, %q in %s", name, was, before.Dir, traits[name], s.Dir))
			}
		}
	}
	return differences
}

// point is one path at one rate and distance, with the runs that count.
type point struct {
	path     results.Path
	ratePerS float64
	dirs     []string
	holdNS   int64 // that its runs had, and their total has in it
}

// points are all that was measured of paths in an open loop under the plan's
// own conditions, distance apart; runs of one rate and distance, of whichever
// folder, are put together. Floors are left out.
func points(sources []Source) (all []point) {
	for _, s := range sources {
		switch {
		case s.Run != nil && s.Run.Plan.Clients == 0:
			for _, p := range s.Run.Paths {
				all = put(all, p, s.Run.Plan.RatePerS, s)
			}
		case s.Capacity != nil && len(s.Capacity.Down) == 0:
			for _, p := range s.Capacity.Points {
				if p.Clients == 0 && (p.Varied == nil || p.Varied.Name == replicaRTT || p.Varied.Name == clientRTT) {
					all = put(all, p.Path, p.RatePerS, s)
				}
			}
		}
	}
	for i := range all {
		one := results.Record{Paths: []results.Path{all[i].path}}
		one.Summarize()
		all[i].path = one.Paths[0]
	}
	return all
}

// The conditions that are distances.
const (
	replicaRTT = "replica-rtt"
	clientRTT  = "client-rtt"
)

func put(all []point, p results.Path, ratePerS float64, s Source) []point {
	usable := p.Usable()
	if p.Floor || len(usable) == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(o point) bool { return o.ratePerS == ratePerS && o.path.Label() == p.Label() })
	if i < 0 {
		p.Runs = slices.Clone(usable)
		return append(all, point{p, ratePerS, []string{s.Dir}, s.plan().HoldNS})
	}
	all[i].path.Runs = append(all[i].path.Runs, usable...)
	if all[i].path.HeldLockBytes == nil {
		all[i].path.HeldLockBytes = p.HeldLockBytes
	}
	if !slices.Contains(all[i].dirs, s.Dir) {
		all[i].dirs = append(all[i].dirs, s.Dir)
	}
	return all
}

// label is a path's name with its options, without a distance.
func label(p results.Path) string {
	p.ReplicaRTTNS, p.ClientRTTNS = 0, 0
	return p.Label()
}
