package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

// resourceRow is one path: means for each operation, by role.
type resourceRow struct {
	path    results.Path
	details []string // what tells it from others
	roles   map[string]results.Resources
}

// resourcesPage draws what each path of a run takes of the driver and the
// servers.
func resourcesPage(s *study) ([]page, error) {
	var rows []resourceRow
	for _, p := range s.record.Paths {
		if roles := p.ResourcesByRole(); roles != nil {
			rows = append(rows, resourceRow{p, present([]string{optionsOf(p), distanceOf(s.record.Paths, p)}), roles})
		}
	}
	p := newResourcePage(rows)
	p.alarm, p.subtitle, p.notes = s.alarm(), s.caption(p.subtitle...), s.footnotes(p.notes...)
	return []page{p}, nil
}

// hasResources tells whether any path's runs that count say what was used.
func (s *study) hasResources() bool {
	return slices.ContainsFunc(s.record.Paths, func(p results.Path) bool { return p.ResourcesByRole() != nil })
}

// sweepResourcesPages draw the same of a sweep: at the step that is nearest to
// the plan's rate, or where that has none at the highest that passed.
func sweepResourcesPages(s sweep) (pages []page, missing string) {
	var rows []resourceRow
	planned := s.record.Plan.RatePerS > 0
	for _, p := range s.resourcePoints() {
		details := []string{optionsOf(p.Path)}
		if p.ReplicaRTTNS > 0 {
			details = append(details, replicaAt+durationTick(float64(p.ReplicaRTTNS)))
		}
		if p.ClientRTTNS > 0 {
			details = append(details, "client at "+durationTick(float64(p.ClientRTTNS)))
		}
		rows = append(rows, resourceRow{p.Path, present(append(details, "at "+rateText(p.RatePerS))), p.ResourcesByRole()})
	}
	switch {
	case len(rows) == 0 && planned:
		return nil, "no step has runs that say what was used"
	case len(rows) == 0:
		return nil, "no step that passed has runs that say what was used"
	}
	which := "each path at the highest step that passed"
	if planned {
		which = "each path at the step nearest to " + rateText(s.record.Plan.RatePerS) + ", whether it passed or not"
	}
	p := newResourcePage(rows)
	p.subtitle, p.notes = s.caption("", which, p.subtitle...), present(append(p.notes, s.withoutResources(rows), s.down()))
	return []page{p}, ""
}

// withoutResources names the paths of the search that are not drawn.
func (s sweep) withoutResources(rows []resourceRow) string {
	var left []string
	for _, p := range s.record.Points {
		drawn := slices.ContainsFunc(rows, func(r resourceRow) bool { return r.path.Label() == p.Label() })
		if p.IsStep() && !drawn && !slices.Contains(left, p.Label()) {
			left = append(left, p.Label())
		}
	}
	if len(left) == 0 {
		return ""
	}
	return "Left out, as no step passed whose runs say what was used: " + strings.Join(left, ", ") + "."
}

// resourcePoints are the steps that are drawn, one of each path.
func (s sweep) resourcePoints() (points []results.Point) {
	want := map[string]float64{}
	for _, a := range s.record.Paths {
		if _, had := want[a.Label()]; !had && a.MaxRatePerS != nil {
			want[a.Label()] = *a.MaxRatePerS
		}
	}
	place := map[string]int{}
	for _, p := range s.record.Points {
		rate, ok := want[p.Label()]
		if s.record.Plan.RatePerS > 0 {
			rate, ok = s.record.Plan.RatePerS, true
		}
		if !p.IsStep() || !ok || p.RatePerS <= 0 || p.ResourcesByRole() == nil {
			continue
		}
		i, had := place[p.Label()]
		if !had {
			place[p.Label()] = len(points)
			points = append(points, p)
			continue
		}
		off := func(perS float64) float64 { return math.Abs(math.Log(perS / rate)) }
		if off(p.RatePerS) < off(points[i].RatePerS) {
			points[i] = p
		}
	}
	return points
}

// newResourcePage is the page of the rows, but for what is said of the record.
func newResourcePage(rows []resourceRow) page {
	body := newResourceBody(rows)
	return page{
		title: "What each operation takes: CPU time, bytes, commands and syncs",
		subtitle: []string{"Means over " + between(body.least, body.most, "run") + " and " + samplesText(body.samples) + " a row, warm-up included; means add up, so they are stacked. " +
			"The servers of one role are added up."},
		notes:  resourceNotes(rows),
		height: body.height(),
		body:   body.draw,
	}
}

// resourceNotes say what is not known, and why.
func resourceNotes(rows []resourceRow) []string {
	notes := []string{
		"Driver: without what it takes to poll. Bytes: clients' are received and sent, as the servers count them, the ledger's among them; " +
			"replication is what primaries and members sent to others. ≥: without what is not known. ?: not known.",
	}
	unknown := map[string][]string{} // by what and why, the roles
	var order []string
	for _, row := range rows {
		for _, run := range row.path.Usable() {
			for _, server := range sortedNames(run.Resources) {
				for _, key := range sortedNames(run.Resources[server].Unknown) {
					what := resourceTitle(key) + " not known: " + strings.TrimSuffix(run.Resources[server].Unknown[key], ".")
					role := results.RoleOf(server)
					if !slices.Contains(order, what) {
						order = append(order, what)
					}
					if !slices.Contains(unknown[what], role) {
						unknown[what] = append(unknown[what], role)
					}
				}
			}
		}
	}
	for _, what := range order {
		notes = append(notes, fmt.Sprintf("%s: %s.", strings.Join(unknown[what], ", "), what))
	}
	return notes
}

// resourceTitle names a figure by its key in the record.
func resourceTitle(key string) string {
	switch {
	case strings.HasPrefix(key, "cpu"):
		return "CPU time"
	case strings.HasPrefix(key, "bytes_in"):
		return "bytes received"
	case strings.HasPrefix(key, "bytes_out"):
		return "bytes sent"
	case strings.HasPrefix(key, "replication"):
		return "replication"
	}
	name, _, _ := strings.Cut(key, "_")
	return name
}

// resourceBody is the body of the figure: bars of CPU time and of bytes, and
// a table.
type resourceBody struct {
	rows        []resourceRow
	stack       stack
	least, most int    // runs of a row
	samples     extent // granted operations of a row
	cpu, bytes  []resourceBar
}

// Measures of the figure, in points.
const (
	resourceNames  vg.Length = 104
	resourceCPU    vg.Length = 126 // width of the bars
	resourceBytes  vg.Length = 76
	resourceTotal  vg.Length = 44 // number beside a bar
	resourceColumn vg.Length = 34
	resourceHead   vg.Length = 64 // legend and heads
	resourceFoot   vg.Length = 34
	resourceLeast  vg.Length = 22 // height of a row
)

func newResourceBody(rows []resourceRow) resourceBody {
	groups := results.GroupByKind(rows, func(r resourceRow) results.Kind { return r.path.Kind })
	b := resourceBody{rows: flat(groups), least: math.MaxInt, samples: newExtent()}
	b.stack = newStack(groups, func(r resourceRow) vg.Length { return max(resourceLeast, heightOf(r.name())+4) })
	for _, row := range b.rows {
		b.samples.add(row.granted())
		n := len(slices.DeleteFunc(row.path.Usable(), func(r results.Run) bool { return len(r.Resources) == 0 }))
		b.least, b.most = min(b.least, n), max(b.most, n)
		b.cpu, b.bytes = append(b.cpu, row.cpuBar()), append(b.bytes, row.bytesBar())
	}
	return b
}

// granted counts the operations that a row rests on.
func (r resourceRow) granted() (n float64) {
	for _, run := range r.path.Usable() {
		if len(run.Resources) > 0 {
			n += float64(run.Granted)
		}
	}
	return n
}

func (b resourceBody) height() vg.Length { return resourceHead + b.stack.height + resourceFoot }

// name labels a row.
func (r resourceRow) name() []paragraph {
	const width = resourceNames - 8
	name := []paragraph{wrapped(bold(textStyle(labelSize, ink)), r.path.Path, width)}
	for _, detail := range r.details {
		name = append(name, wrapped(textStyle(smallSize, softInk), detail, width))
	}
	return name
}
