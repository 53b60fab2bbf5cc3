package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteFailoverTable writes the record of fault experiments as text for a
// terminal, at most 100 columns wide: what each path let through in each
// scenario, how long it took, how acquisitions ended, the replication
// windows, and at the end what each path let through at least once. It reads
// sums, shares and times as Summarize left them.
func WriteFailoverTable(w io.Writer, f *Failover) error {
	out := bufio.NewWriter(w)
	t := failoverTable{page: page{out}, record: f, blocks: f.blocks()}
	t.header()
	t.events()
	t.times()
	t.latencies()
	t.facts()
	t.outcomes()
	t.remarks()
	t.windows()
	t.overall()
	t.notRun(f.Plan.NotRun)
	t.notes()
	return out.Flush()
}

// failoverTable writes the parts of the summary.
type failoverTable struct {
	page
	record *Failover
	blocks []failoverBlock
}

// failoverBlock is one scenario with all its paths.
type failoverBlock struct {
	label string
	paths []Scenario
}

// blocks groups the entries by label, in the order in which these first
// stand, and within a label by their paths' kinds. Entries without a trial are
// left out.
func (f *Failover) blocks() []failoverBlock {
	var blocks []failoverBlock
	at := map[string]int{}
	for _, s := range f.Scenarios {
		if len(s.Runs) == 0 {
			continue
		}
		label := f.Label(s)
		i, known := at[label]
		if !known {
			i = len(blocks)
			at[label] = i
			blocks = append(blocks, failoverBlock{label: label})
		}
		blocks[i].paths = append(blocks[i].paths, s)
	}
	for _, b := range blocks {
		slices.SortStableFunc(b.paths, func(a, b Scenario) int { return a.Kind.rank() - b.Kind.rank() })
	}
	return blocks
}

// heading names the block, says what is done in it, and with which settings.
func (b failoverBlock) heading() []string {
	s := b.paths[0]
	var settings []string
	if s.Replicas > 0 {
		settings = append(settings, plural(s.Replicas, "replica"))
	}
	add := func(format string, ns int64) {
		if ns > 0 {
			settings = append(settings, fmt.Sprintf(format, time.Duration(ns)))
		}
	}
	add("down-after %s", s.DownAfterNS)
	add("replica RTT %s", s.ReplicaRTT)
	if s.RatePerS > 0 {
		settings = append(settings, fmt.Sprintf("%.6g/s", s.RatePerS))
	}
	add("held for %s", s.HoldNS)
	add("asked again after %s", s.SecondNS)
	text := b.label
	if s.Summary != "" {
		text += ": " + strings.TrimSuffix(s.Summary, ".")
	}
	if len(settings) == 0 {
		return wrap("", "  ", text)
	}
	return append(wrap("", "  ", text), wrap("  (", "  ", strings.Join(settings, ", ")+")")...)
}

func (t *failoverTable) header() {
	r, plan := t.record, t.record.Plan
	t.print(wrap("", "", fmt.Sprintf("%s: fault experiments, %s of each scenario and path%s",
		r.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), plural(plan.Trials, "trial"), quickly(plan))))
	if r.Environment.Topology != "" {
		t.print(wrap("", "", r.Environment.Topology))
	}
	if machine := r.Environment.machine(); machine != "" {
		t.print(wrap("", "", machine))
	}
	t.print(wrap("", "", plan.sentence()))
	if r.Interrupted {
		t.print(wrap("", "", "INTERRUPTED: the numbers are of the trials that had ended by then."))
	}
	if n := r.Doubtful(); n > 0 {
		t.print(wrap("", "", fmt.Sprintf("SHOWS NOTHING: every trial was void in %d of %s, by scenario and path; see the remarks.",
			n, plural(len(r.Scenarios), "entry"))))
	}
}

func quickly(plan FailoverPlan) string {
	if plan.Quick {
		return " (quick: too few for close intervals)"
	}
	return ""
}

// machine is where the servers and the driver were.
func (e Environment) machine() string {
	var parts []string
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	}
	if e.CPUs > 0 {
		parts = append(parts, plural(e.CPUs, "CPU"))
	}
	if e.OS != "" {
		parts = append(parts, e.OS+"/"+e.Arch)
	}
	return strings.Join(parts, ", ")
}

// sentence is the plan, as far as it is the same for all scenarios.
func (p FailoverPlan) sentence() string {
	var parts []string
	add := func(given bool, format string, values ...any) {
		if given {
			parts = append(parts, fmt.Sprintf(format, values...))
		}
	}
	add(p.RatePerS > 0, "%.6g acquisitions/s where scenarios are timed", p.RatePerS)
	add(p.TTLNS > 0, "locks live %s", time.Duration(p.TTLNS))
	add(p.OpTimeoutNS > 0, "given up on after %s", time.Duration(p.OpTimeoutNS))
	add(p.WaitReplicas > 0, "WAIT %d for at most %s", p.WaitReplicas, time.Duration(p.WaitTimeoutNS))
	add(p.Sentinels > 0, "%s", plural(p.Sentinels, "Sentinel"))
	add(p.Env != "", "servers by %s", p.Env)
	add(true, "seed %d", p.Seed)
	return strings.Join(parts, "; ")
}

// plural is a number and what is counted.
func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// split deals columns that are too many for the table's width out to several
// tables, each of which starts with the first column. All rows are equally
// long.
func (c columns) split() []columns {
	widths := c.widths()
	var parts []columns
	width := 0
	for i := 1; i < len(widths); i++ {
		cell := 2 + widths[i]
		if len(parts) == 0 || width+cell > tableWidth {
			part := make(columns, len(c))
			for row := range c {
				part[row] = []string{c[row][0]}
			}
			parts, width = append(parts, part), 2+widths[0]
		}
		last := parts[len(parts)-1]
		for row := range c {
			last[row] = append(last[row], c[row][i])
		}
		width += cell
	}
	return parts
}

// grid prints the rows, in several tables where they are too wide for one.
func (t *failoverTable) grid(rows columns) {
	for _, part := range rows.split() {
		t.print(part.lines())
	}
}

// twoLines breaks a column's name in two at its last blank, so that the name
// is no wider than its cells; a single word stands below.
func twoLines(name string) (above, below string) {
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// headed are the two rows of names above columns.
func headed(names ...string) columns {
	rows := make(columns, 2)
	for _, name := range names {
		above, below := twoLines(name)
		rows[0], rows[1] = append(rows[0], above), append(rows[1], below)
	}
	return rows
}
