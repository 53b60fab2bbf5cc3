package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"lockcost/bench"
	"lockcost/bench/failover"
	"lockcost/results"
)

// progress tells on stderr what is going on: as a bar on a terminal, else as
// a line for each run.
type progress struct {
	out   io.Writer
	quiet bool
	bar   *progressbar.ProgressBar // nil without a terminal
	last  string
	done  int // runs, when a line was last printed
}

func newProgress(out io.Writer, quiet bool) *progress {
	p := &progress{out: out, quiet: quiet}
	if f, ok := out.(*os.File); ok && !quiet && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
	}
	return p
}

func (p *progress) show(now bench.Progress) {
	if p.quiet {
		return
	}
	if p.bar != nil {
		p.bar.ChangeMax(max(now.Total, 1))
		p.bar.Describe(p.line(now))
		_ = p.bar.Set(now.Done) // what cannot be shown is not worth an error
		return
	}
	line := now.Step
	if now.Path != "" {
		if now.Done == p.done {
			return // one line a run is enough in a log
		}
		p.done = now.Done
		line = fmt.Sprintf("%d of %d runs done, last %s, %s left", now.Done, now.Total, now.Path, now.Left.Round(time.Second))
	}
	if line != p.last {
		fmt.Fprintln(p.out, line)
	}
	p.last = line
}

// line is the text beside the bar.
func (p *progress) line(now bench.Progress) string {
	if now.Path == "" {
		return now.Step
	}
	text := now.Path
	if now.PerS > 0 {
		text += fmt.Sprintf(" %.0f/s", now.PerS)
	}
	if now.P99 > 0 {
		text += ", acquire P99 " + results.FormatDuration(int64(now.P99))
	}
	return text + fmt.Sprintf(", %s left", now.Left.Round(time.Second))
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
		p.quiet = true
	}
}

// trialLines is how many lines tell of all trials together, in a log.
const trialLines = 50

// showTrials tells of fault experiments: a line for every fiftieth of them.
func (p *progress) showTrials(now failover.Progress) {
	if p.quiet {
		return
	}
	line := now.Step
	if now.Done > 0 && now.Last != "" {
		line = fmt.Sprintf("%d of %d trials done, last %s, %s left", now.Done, now.Total, now.Last, now.Left.Round(time.Second))
	}
	if p.bar != nil {
		p.bar.ChangeMax(max(now.Total, 1))
		p.bar.Describe(line)
		_ = p.bar.Set(now.Done)
		return
	}
	if now.Last != "" && now.Done < now.Total && now.Done%max(1, now.Total/trialLines) != 0 || line == p.last {
		return
	}
	p.last = line
	fmt.Fprintln(p.out, line)
}
