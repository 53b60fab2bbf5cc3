package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockcost/plots"
	"lockcost/results"
)

func newPlot(stdout, stderr io.Writer) *cobra.Command {
	var o output
	var out string
	c := &cobra.Command{
		Use:   "plot DIR",
		Short: "Draw the figures of a run, of fault experiments or of a sweep, from the folder alone",
		Long: `Plot draws figures as PNG and SVG: of a run cost, percentiles, stages, timeseries
and resources; of fault experiments safety, timeline, failover-time and window;
of a sweep knee, rtt, sensitivity and resources. It needs the folder and no
server, and prints the table too.`,
		Example: `  lockcost plot results/20260131T120000Z
  lockcost plot results/20260131T120000Z --out figures`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Errorf("plot takes one run's folder, got %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if out == "" {
				out = args[0]
			}
			return plot(args[0], out, o, stdout, stderr)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&out, "out", "", "folder for the figures (default the run's own)")
	return c
}

func plot(dir, out string, o output, stdout, stderr io.Writer) error {
	if results.IsFailover(dir) {
		return plotFailover(dir, out, o, stdout, stderr)
	}
	if results.IsCapacity(dir) {
		return plotCapacity(dir, out, o, stdout, stderr)
	}
	record, err := results.Load(dir)
	if err != nil {
		return usage(err)
	}
	figures, err := plots.Draw(dir, out)
	if err != nil {
		return err
	}
	o.drew(stderr, figures)
	if o.format == "json" {
		return printJSON(stdout, figures)
	}
	return results.WriteTable(stdout, record)
}

// plotFailover draws fault experiments.
func plotFailover(dir, out string, o output, stdout, stderr io.Writer) error {
	record, err := results.LoadFailover(dir)
	if err != nil {
		return usage(err)
	}
	record.Summarize() // those that were killed may have no summary
	figures, err := plots.DrawFailover(dir, out)
	if err != nil {
		return err
	}
	o.drew(stderr, figures)
	if o.format == "json" {
		return printJSON(stdout, figures)
	}
	return results.WriteFailoverTable(stdout, record)
}

// plotCapacity draws a sweep.
func plotCapacity(dir, out string, o output, stdout, stderr io.Writer) error {
	record, err := results.LoadCapacity(dir)
	if err != nil {
		return usage(err)
	}
	figures, err := plots.DrawCapacity(dir, out)
	if err != nil {
		return err
	}
	o.drew(stderr, figures)
	if o.format == "json" {
		return printJSON(stdout, figures)
	}
	return results.WriteCapacityTable(stdout, record)
}

// drew tells which files there are.
func (o output) drew(w io.Writer, figures []plots.Figure) {
	if o.quiet {
		return
	}
	for _, f := range figures {
		for _, path := range f.Files {
			fmt.Fprintln(w, "drew", path)
		}
	}
}
