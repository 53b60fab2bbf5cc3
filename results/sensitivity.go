package results

import (
	"cmp"
	"slices"
)

// The percentiles of a sensitivity.
var sensitivityPercentiles = []Percentile{P50, P99}

// Label names the path.
func (s Sensitivity) Label() string { return Path{Path: s.Path, Options: s.Options}.optioned() }

// sensitivities are those of every condition that was varied, of every path
// that it was varied for.
func (c *Capacity) sensitivities() []Sensitivity {
	all := []Sensitivity{}
	for _, vary := range c.Search.Varied {
		for _, points := range c.varied(vary.Name) {
			for _, p := range sensitivityPercentiles {
				all = append(all, c.sensitivity(vary.Name, points, p))
			}
		}
	}
	return all
}

// varied are the points of each path that a condition was varied for, by the
// condition's value.
func (c *Capacity) varied(name string) (paths [][]Point) {
	place := map[string]int{}
	for _, p := range c.Points {
		if p.Varied == nil || p.Varied.Name != name || p.Floor {
			continue
		}
		i, there := place[p.optioned()]
		if !there {
			i = len(paths)
			place[p.optioned()] = i
			paths = append(paths, nil)
		}
		paths[i] = append(paths[i], p)
	}
	for _, points := range paths {
		slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Varied.Number, b.Varied.Number) })
	}
	slices.SortStableFunc(paths, func(a, b []Point) int { return cmp.Compare(c.order(a[0]), c.order(b[0])) })
	return paths
}

// The sides of a sensitivity's line.
const (
	ofCost  = "cost"
	ofLevel = "level"
)

// lines are the conditions that a straight line is expected of.
var lines = map[string]struct{ of, expected string }{
	"replica-rtt": {ofCost, "1 for each wait for a replica"},
	"client-rtt":  {ofLevel, "1 for each round trip of the acquire"},
	"tx-rows":     {ofLevel, "a cost for each row"},
}

// spanVaried is the span that a condition bears on.
func spanVaried(name string, p Point) SpanName {
	switch {
	case name == "tx-rows":
		return SpanEffect
	case p.Lockless():
		return SpanTotal
	}
	return SpanAcquire
}

func (c *Capacity) sensitivity(name string, points []Point, p Percentile) Sensitivity {
	first := points[0]
	s := Sensitivity{
		Name: name, Path: first.Path.Path, Options: first.Options, Span: spanVaried(name, first), Percentile: p,
		RatePerS: first.RatePerS, Of: lines[name].of,
	}
	if s.Of == "" {
		s.Of = ofLevel
	}
	sample := make([]blockValues, len(points))
	for i, point := range points {
		at := SensitivityAt{Value: *point.Varied, Doubt: point.doubt()}
		base, ours := c.basis(point), inBlocks(point, s.Span, p)
		if values := sorted(ours); len(values) > 0 {
			at.Level = level(values)
			at.Level.LowerBound = bounded(point.Usable())
		}
		if base != nil {
			theirs := inBlocks(*base, s.Span, p)
			a, b := together(ours, theirs)
			if len(a) > 0 {
				difference := cost(a, b)
				difference.Bound = boundOf(bounded(point.Usable()), bounded(base.Usable()))
				at.Cost = &difference
			}
			if s.Of == ofCost {
				ours = minus(ours, theirs)
			}
		}
		sample[i] = ours
		s.Values = append(s.Values, at)
	}
	if expected, ok := lines[name]; ok && (s.Of == ofLevel || !first.IsBaseline()) {
		s.Line = fit(points, sample, expected.expected)
	}
	return s
}

// doubt says why the point's runs may not be believed, "" where they may.
func (p Point) doubt() string {
	usable := p.Usable()
	switch {
	case len(usable) == 0 && len(p.Runs) > 0:
		return "invalid: " + firstReason(p.Runs, Invalid)
	case firstReason(usable, Saturated) != "":
		return "saturated: " + firstReason(usable, Saturated)
	}
	return ""
}

// basis is the point of setnx that a point's cost is stated against: under the
// same condition, or where setnx does not depend on it, at whatever value it
// was driven. Nil for setnx itself.
func (c *Capacity) basis(p Point) *Point {
	if p.IsBaseline() {
		return nil
	}
	var any *Point
	for i := range c.Points {
		o := &c.Points[i]
		if o.Varied == nil || o.Varied.Name != p.Varied.Name || !o.IsBaseline() {
			continue
		}
		if o.Varied.Number == p.Varied.Number {
			return o
		}
		if any == nil || o.Varied.Number < any.Varied.Number {
			any = o
		}
	}
	if p.Varied.Name == "replica-rtt" || p.Varied.Name == "wait-replicas" {
		return any
	}
	return nil // setnx depends on it too
}

// blockValues is a percentile in each block, in nanoseconds.
type blockValues map[int]float64

// inBlocks are the percentile's values in the runs that count, by block.
func inBlocks(p Point, span SpanName, percentile Percentile) blockValues {
	usable := map[int]bool{}
	for _, run := range p.Usable() {
		usable[run.Index] = true
	}
	values := blockValues{}
	for i, run := range p.Runs {
		if ns, ok := run.Spans[span].At(percentile); ok && usable[run.Index] && i < len(p.Blocks) && p.Blocks[i] >= 0 {
			values[p.Blocks[i]] = float64(ns)
		}
	}
	return values
}

// sorted are the values in order of block.
func sorted(values blockValues) (all []float64) {
	for _, block := range blocksOf(values) {
		all = append(all, values[block])
	}
	return all
}

func blocksOf(values blockValues) (blocks []int) {
	for block := range values {
		blocks = append(blocks, block)
	}
	slices.Sort(blocks)
	return blocks
}

// together are the values of the blocks that both have.
func together(ours, theirs blockValues) (a, b []float64) {
	for _, block := range blocksOf(ours) {
		if other, ok := theirs[block]; ok {
			a, b = append(a, ours[block]), append(b, other)
		}
	}
	return a, b
}

// minus are the differences in the blocks that both have.
func minus(ours, theirs blockValues) blockValues {
	differences := blockValues{}
	for block, value := range ours {
		if other, ok := theirs[block]; ok {
			differences[block] = value - other
		}
	}
	return differences
}
