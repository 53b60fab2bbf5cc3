package planning

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"lockcost/results"
)

// textWidth is the widest line of the text.
const textWidth = 100

// WriteText writes the plan for people: a table of all paths, a block for each,
// and how well the interpolation does where it can be checked.
func WriteText(w io.Writer, p *Plan) error {
	var out strings.Builder
	q := p.Question
	head := fmt.Sprintf("Plan for %s/s, %s", results.FormatRate(q.RatePerS), q.SLO.Title())
	for _, part := range []struct {
		what string
		ns   int64
	}{{"replica round trip", q.ReplicaRTTNS}, {"client round trip", q.ClientRTTNS}, {"hold", q.HoldNS}} {
		if part.ns > 0 {
			head += ", " + part.what + " " + results.FormatDuration(part.ns)
		}
	}
	writeWrapped(&out, "", head)
	for _, warning := range p.Warnings {
		writeWrapped(&out, "", warning)
	}
	out.WriteString("\nAcquire (the whole job of a path without a lock): median over runs, of P99 [interval]\n")
	p.comparison(&out)
	for _, path := range p.Paths {
		path.block(&out)
	}
	p.checks(&out)
	_, err := io.WriteString(w, out.String())
	return err
}

func (p *Plan) comparison(out *strings.Builder) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "path\tP50\tP99\tSLO\troom\troom, down\tpool\tcores")
	for _, path := range p.Paths {
		if path.Refused != "" {
			fmt.Fprintf(table, "%s\trefused\t\t\t\t\t\t\n", path.Path)
			continue
		}
		times := path.Times[results.SpanAcquire]
		if times == nil {
			times = path.Times[results.SpanTotal]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", path.Path, cell(medianOnly(times), results.P50), cell(times, results.P99),
			path.MeetsSLO, path.Headroom[0].cell(), path.Headroom[1].cell(), path.pool(), path.cores())
	}
	table.Flush()
}

func cell(times map[results.Percentile]Estimate, p results.Percentile) string {
	e, ok := times[p]
	if !ok {
		return "-"
	}
	return e.String()
}

// String is the estimate for people; ≥ marks a lower bound, * what is
// extrapolated.
func (e Estimate) String() string {
	text := results.FormatDuration(e.MedianNS)
	if e.LowerBound {
		text = "≥" + text
	}
	if e.LowNS != nil && e.HighNS != nil {
		text += fmt.Sprintf(" [%s, %s]", results.FormatDuration(*e.LowNS), results.FormatDuration(*e.HighNS))
	}
	if e.Extrapolated {
		text += "*"
	}
	return text
}

// medianOnly leaves the intervals out, where a table has no room for them.
func medianOnly(times map[results.Percentile]Estimate) map[results.Percentile]Estimate {
	plain := map[results.Percentile]Estimate{}
	for p, e := range times {
		e.LowNS, e.HighNS = nil, nil
		plain[p] = e
	}
	return plain
}

func (h Headroom) cell() string {
	switch {
	case h.Ratio == nil:
		return "-"
	case h.AtLeast:
		return fmt.Sprintf("≥%.2f×", *h.Ratio)
	}
	return fmt.Sprintf("%.2f×", *h.Ratio)
}

func (p Path) pool() string {
	if p.Sizing == nil {
		return "-"
	}
	if pool, ok := p.Sizing.Pools[results.LockPool]; ok {
		return fmt.Sprint(pool.Recommended)
	}
	return "-"
}

// cores are those of all servers, without the driver.
func (p Path) cores() string {
	total, known := 0.0, false
	for name, use := range p.Servers {
		if name != results.DriverResources && use.Cores != nil {
			total, known = total+use.Cores.Mean, true
		}
	}
	if !known {
		return "-"
	}
	return fmt.Sprintf("%.2f", total)
}

func (p Path) block(out *strings.Builder) {
	fmt.Fprintf(out, "\n%s\n", p.Path)
	if p.Refused != "" {
		writeWrapped(out, "  ", "Refused: "+p.Refused)
	}
	if total, ok := p.Times[results.SpanTotal]; ok {
		fmt.Fprintf(out, "  whole job: P50 %s, P99 %s\n", cell(total, results.P50), cell(total, results.P99))
	}
	for _, h := range p.Headroom {
		if h.Note != "" {
			which := "normal running"
			if h.Down != "" {
				which = h.Down + " down"
			}
			writeWrapped(out, "  ", "headroom, "+which+": "+h.Note)
		}
	}
	p.sizes(out)
	for _, f := range p.Failover {
		f.write(out)
	}
	if len(p.Failover) == 0 {
		fmt.Fprintln(out, "  failover: no failover record of the path was given")
	}
	writeWrapped(out, "  ", "downstream: "+p.Downstream)
	for _, note := range p.Notes {
		writeWrapped(out, "  ", "note: "+note)
	}
	writeWrapped(out, "  ", "basis: "+strings.Join(p.Basis, "; "))
}

func (p Path) sizes(out *strings.Builder) {
	if s := p.Sizing; s != nil {
		fmt.Fprintf(out, "  jobs in flight: %.1f in the mean, %d at P99.9\n", s.InFlightMean, s.InFlightP999)
		for _, name := range slices.Sorted(maps.Keys(s.Pools)) {
			pool := s.Pools[name]
			fmt.Fprintf(out, "  %s pool: %d connections (%.2f in use in the mean, Poisson P99.9 %d)\n", name, pool.Recommended, pool.InUseMean, pool.PoissonP999)
		}
		for _, server := range slices.Sorted(maps.Keys(s.HeldLockBytes)) {
			fmt.Fprintf(out, "  locks held on %s: %d at most at P99.9, %.0f bytes\n", server, s.HeldP999, s.HeldLockBytes[server])
		}
	}
	for _, server := range slices.Sorted(maps.Keys(p.Servers)) {
		u := p.Servers[server]
		var parts []string
		add := func(r *Range, scale float64, format string) {
			if r != nil {
				parts = append(parts, fmt.Sprintf(format, r.Mean*scale))
			}
		}
		add(u.Cores, 1, "%.3f cores")
		add(u.InBytesPerS, 8e-6, "%.2f Mbit/s in")
		add(u.OutBytesPerS, 8e-6, "%.2f Mbit/s out")
		add(u.FsyncsPerS, 1, "%.0f fsyncs/s")
		add(u.CommandsPerS, 1, "%.0f commands/s")
		if len(parts) > 0 {
			writeWrapped(out, "  ", server+": "+strings.Join(parts, ", "))
		}
	}
}

// write tells of what happened in a scenario, and of the rest how often it may
// have gone unseen.
func (f Failover) write(out *strings.Builder) {
	var parts []string
	unseen := 0.0
	for _, event := range results.Events {
		risk, ok := f.Events[event]
		switch {
		case !ok:
		case risk.Trials > 0:
			parts = append(parts, fmt.Sprintf("%s in %d of %d (up to %.0f %%)", strings.ReplaceAll(string(event), "_", " "), risk.Trials, risk.Of, 100*risk.UpperRatio))
		default:
			unseen = max(unseen, risk.UpperRatio)
		}
	}
	if unseen > 0 {
		parts = append(parts, fmt.Sprintf("nothing else (each up to %.0f %%)", 100*unseen))
	}
	if f.OutageNS != nil {
		parts = append(parts, fmt.Sprintf("no grants for %s: %.0f refused", results.FormatDuration(f.OutageNS.MedianNS), f.Refused["median"]))
	}
	writeWrapped(out, "  ", "failover, "+f.Scenario+": "+strings.Join(parts, ", "))
}

// checks sums up the validation: for each path and percentile of the acquire,
// or of the whole job where there is no lock, the median and the worst error.
func (p *Plan) checks(out *strings.Builder) {
	type row struct {
		path       string
		percentile results.Percentile
	}
	errors, overlap, intervals := map[row][]float64{}, map[row]int{}, map[row]int{}
	var rows []row
	for _, c := range p.Validation {
		if c.Span != c.main {
			continue
		}
		r := row{c.Path, c.Percentile}
		if errors[r] == nil {
			rows = append(rows, r)
		}
		errors[r] = append(errors[r], 100*math.Abs(c.ErrorRatio))
		if c.Overlap != nil {
			intervals[r]++
			if *c.Overlap {
				overlap[r]++
			}
		}
	}
	if len(errors) == 0 {
		out.WriteString("\nNo path has an interior measured rate: the interpolation could not be checked.\n")
		return
	}
	out.WriteString("\nEach rate between two others predicted from the others: error against what was measured there\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "path\tof\tchecks\tmedian\tworst\tintervals that meet")
	for _, r := range rows {
		all := slices.Sorted(slices.Values(errors[r]))
		meet := "-"
		if intervals[r] > 0 {
			meet = fmt.Sprintf("%d of %d", overlap[r], intervals[r])
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%.1f %%\t%.1f %%\t%s\n", r.path, r.percentile.Title(), len(all), (all[(len(all)-1)/2]+all[len(all)/2])/2, all[len(all)-1], meet)
	}
	table.Flush()
}

// writeWrapped breaks the text at spaces so that lines keep to textWidth.
func writeWrapped(out *strings.Builder, indent, text string) {
	line := indent
	for i, word := range strings.Fields(text) {
		if i > 0 && len([]rune(line))+1+len([]rune(word)) > textWidth {
			fmt.Fprintln(out, line)
			line = indent + "  " + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(out, line)
}
