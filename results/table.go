package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteTable writes the record as text for a terminal, at most 100 columns
// wide: the level of each path, what it costs against setnx, the floors, and
// what a reader must know to believe the numbers. It reads Summary and Cost
// as Summarize left them.
func WriteTable(w io.Writer, r *Record) error {
	out := bufio.NewWriter(w)
	t := table{page: page{out}, record: r}
	t.header()
	t.notRun(r.Plan.NotRun)
	t.acquire()
	t.costs("Cost of the lock: acquire against setnx, block by block", SpanAcquire)
	if r.Plan.Effect == EffectCharge {
		t.jobs()
		t.costs("Cost of the whole job: total against setnx, block by block", SpanTotal)
	}
	if r.Plan.Effect != EffectCharge || r.Plan.contended() {
		t.outcomes()
	}
	t.openings()
	t.resources()
	t.floors()
	t.notes()
	return out.Flush()
}

// page is text under titles.
type page struct{ out *bufio.Writer }

func (p page) title(text string) { fmt.Fprintf(p.out, "\n%s\n", text) }

func (p page) print(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// table writes the parts of the summary.
type table struct {
	page
	record *Record
}

func (t *table) header() {
	plan := t.record.Plan
	job := "acquire and release only"
	if plan.Effect == EffectCharge {
		job = "charging an order under the lock"
	}
	t.print(wrap("", "", fmt.Sprintf("%s: %s, %.6g/s (%s arrivals) for %s, runs of each path in shuffled blocks: %d%s",
		t.record.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), job, plan.RatePerS, plan.Arrivals,
		time.Duration(plan.DurationNS), plan.Runs, contention(plan))))
	if t.record.Environment.Topology != "" {
		t.print(wrap("", "", t.record.Environment.Topology))
	}
	if done, planned := t.record.Count(), plan.Runs*len(t.record.Paths); !t.record.Interrupted && done < planned {
		t.print(wrap("", "", fmt.Sprintf("INCOMPLETE: %d of %d runs were kept; the program that made them was ended.", done, planned)))
	}
	if t.record.Interrupted {
		t.print(wrap("", "", "INTERRUPTED: the numbers are of what was measured until then."))
	}
}

// acquire is the level of every path, with as many intervals as there is
// room for. Where there is none for a single one, verdicts that are all the
// same make room and stand in the title.
func (t *table) acquire() {
	title := "Acquire, as the caller waits for it: median over runs"
	rows := t.acquireRows(0, true)
	for intervals := 3; intervals > 0; intervals-- {
		if with := t.acquireRows(intervals, true); fits(with.lines()) {
			rows = with
			break
		}
		if with := t.acquireRows(intervals, false); intervals == 1 && t.record.allValid() && fits(with.lines()) {
			rows, title = with, title+", all runs valid"
		}
	}
	t.title(title + t.intervalTitle())
	t.print(rows.lines())
}

// acquireRows gives the first so many percentiles their intervals.
func (t *table) acquireRows(intervals int, verdicts bool) columns {
	names := []string{"path", "lock is in", "verdict", "achieved", "P50", "P99", "P99.9"}
	rows := t.grouped(columns{names}, func(p Path) columns { return columns{acquireRow(p, intervals)} })
	if !verdicts {
		for i, row := range rows {
			if len(row) > 2 {
				rows[i] = slices.Delete(row, 2, 3)
			}
		}
	}
	return rows.withoutEmpty()
}

// allValid tells whether every path has runs, and all of them are valid.
func (r *Record) allValid() bool {
	return !slices.ContainsFunc(r.Paths, func(p Path) bool { return !p.Floor && verdictCell(p) != string(Valid) })
}

// grouped adds the rows of every path that is no floor, those of a kind below
// a heading.
func (t *table) grouped(rows columns, of func(Path) columns) columns {
	for _, g := range t.record.kinds(false) {
		var own columns
		for _, p := range g.Items {
			own = append(own, of(p)...)
		}
		if len(own) > 0 && g.Kind != "" {
			rows = append(rows, []string{"-- " + g.Kind.Title()})
		}
		rows = append(rows, own...)
	}
	return rows
}

// acquireRow gives the first so many percentiles their intervals.
func acquireRow(p Path, intervals int) []string {
	row := []string{p.Label(), durabilityCell(p), verdictCell(p), achievedCell(p)}
	if p.Lockless() {
		return append(row, "nothing to acquire: see the whole job")
	}
	for i, percentile := range []Percentile{P50, P99, P999} {
		row = append(row, levelCell(p, SpanAcquire, percentile, i < intervals))
	}
	return row
}

// costs is one span's cost of every path that has one.
func (t *table) costs(title string, span SpanName) {
	rows := columns{{"path", "at", "ratio", "difference", "p (Holm)", ""}}
	rows = t.grouped(rows, func(p Path) columns { return costRows(p, span) })
	if len(rows) == 1 {
		return
	}
	t.title(title)
	t.print(rows.lines())
}

// costRows are a row for each percentile that has a cost.
func costRows(p Path, span SpanName) columns {
	var rows columns
	label := p.Label()
	for _, percentile := range []Percentile{P50, P99, P999} {
		c, ok := p.Cost[span][percentile]
		if !ok {
			continue
		}
		rows = append(rows, []string{label, percentile.Title(), ratioCell(c), deltaCell(c), pCell(c), controlCell(p, span)})
		label = ""
	}
	return rows
}

// jobs is the whole job and, where locks do not wait for each other, how
// operations ended.
func (t *table) jobs() {
	title, names := "The whole job", []string{"path", "P50", "P99"}
	if !t.record.Plan.contended() {
		title, names = title+", and how operations ended", append(names, "granted", "refused", "errors", "expired")
	}
	t.title(title)
	rows := t.grouped(columns{names}, func(p Path) columns {
		row := []string{p.Label(), levelCell(p, SpanTotal, P50, true), levelCell(p, SpanTotal, P99, true)}
		if !t.record.Plan.contended() {
			row = append(row, outcomeCells(p)...)
		}
		return columns{row}
	})
	t.print(rows.lines())
}

// outcomes is how operations ended where there was no job under the lock, and
// where locks were held by others: how many were refused, and after what time.
func (t *table) outcomes() {
	t.title("How operations ended")
	rows := columns{{"path", "granted", "granted/s", "held", "unreplicated", "errors", "expired", "refused P50", "refused P99"}}
	rows = t.grouped(rows, func(p Path) columns { return columns{append([]string{p.Label()}, endCells(p)...)} })
	t.print(rows.withoutEmpty().lines())
}

// openings is what it took to open sessions, of the paths that say so.
func (t *table) openings() {
	rows := columns{{"path", "P50", "from", "to", "sessions"}}
	all := func(p Path) columns {
		if p.SessionOpen == nil {
			return nil
		}
		o := *p.SessionOpen
		return columns{{p.Label(), FormatDuration(o.P50NS), FormatDuration(o.MinNS), FormatDuration(o.MaxNS), fmt.Sprint(o.Count)}}
	}
	if rows = t.grouped(rows, all); len(rows) > 1 {
		t.title("Opening a session: what a path needs before its first lock, opened one after the other")
		t.print(rows.lines())
	}
}

// notRun lists the paths that were asked for and could not be run.
func (p *page) notRun(list []string) {
	if len(list) == 0 {
		return
	}
	p.title("Not run")
	for _, why := range list {
		p.print(wrap("  - ", "    ", strings.TrimSpace(why)))
	}
}

// floors are null and ping: what the loop and the network take by themselves.
func (t *table) floors() {
	paths := t.paths(true)
	if len(paths) == 0 {
		return
	}
	t.title("Floors: the same loop with no lock (null) and with one round trip (ping)")
	rows := columns{{"path", "verdict", "achieved", "acquire P50", "acquire P99", "lag P50", "lag P99"}}
	for _, p := range paths {
		rows = append(rows, []string{p.Label(), verdictCell(p), achievedCell(p),
			levelCell(p, SpanAcquire, P50, false), levelCell(p, SpanAcquire, P99, false),
			levelCell(p, SpanLag, P50, false), levelCell(p, SpanLag, P99, false)})
	}
	t.print(rows.lines())
}

func (t *table) paths(floors bool) []Path {
	var paths []Path
	for _, p := range t.record.Paths {
		if p.Floor == floors {
			paths = append(paths, p)
		}
	}
	return paths
}

// intervalTitle says what stands in brackets.
func (t *table) intervalTitle() string {
	confidences := map[string]bool{}
	for _, p := range t.paths(false) {
		for _, levels := range p.Summary {
			for _, l := range levels {
				if l.Confidence > 0 {
					confidences[fmt.Sprintf("%.1f %%", l.Confidence*100)] = true
				}
			}
		}
	}
	switch len(confidences) {
	case 0:
		return " (n too small for an interval)"
	case 1:
		for c := range confidences {
			return " [" + c + " interval]"
		}
	}
	return " [interval at 95 % or more]"
}

// notes is everything that is said in sentences.
func (t *table) notes() {
	notes := t.record.notes()
	if len(notes) == 0 {
		return
	}
	t.title("Notes")
	for _, note := range notes {
		t.print(wrap("  - ", "    ", strings.TrimSpace(note)))
	}
}

// contended tells whether operations may ask for a lock that another has.
func (p Plan) contended() bool { return p.Keys > 0 || p.Orders > 0 || p.AcquireTimeoutNS > 0 }

// contention is what of the plan makes locks wait for each other.
func contention(plan Plan) string {
	text := ""
	if plan.Keys > 0 {
		text += fmt.Sprintf("; %d keys", plan.Keys)
	}
	if plan.Orders > 0 {
		text += fmt.Sprintf("; %d hot orders", plan.Orders)
	}
	if plan.Zipf > 0 {
		text += fmt.Sprintf(", drawn by Zipf with exponent %.3g", plan.Zipf)
	}
	if plan.TxRows > 0 {
		text += fmt.Sprintf("; %d more rows in each transaction", plan.TxRows)
	}
	if plan.HoldNS > 0 {
		text += fmt.Sprintf("; each lock held for %s", time.Duration(plan.HoldNS))
	}
	if plan.AcquireTimeoutNS > 0 {
		text += fmt.Sprintf("; tried for up to %s", time.Duration(plan.AcquireTimeoutNS))
	}
	return text
}
