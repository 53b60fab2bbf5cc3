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
		Short: "Draw a run's figures again, from its folder alone",
		Long: `Plot draws the figures of a run as PNG and SVG: cost, percentiles, stages and
timeseries. It needs the run's folder and no server, and prints the run's table.`,
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
	record, err := results.Load(dir)
	if err != nil {
		return usage(err)
	}
	figures, err := plots.Draw(dir, out)
	if err != nil {
		return err
	}
	if !o.quiet {
		for _, f := range figures {
			for _, path := range f.Files {
				fmt.Fprintln(stderr, "drew", path)
			}
		}
	}
	if o.format == "json" {
		return printJSON(stdout, figures)
	}
	return results.WriteTable(stdout, record)
}
