package results

import (
	"bufio"
	"fmt"
	"io"
)

// WriteFailoverTable writes the record of fault experiments as text for a
// terminal, at most 100 columns wide. It reads what Summarize filled in.
func WriteFailoverTable(w io.Writer, f *Failover) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%d trials\n", f.Count())
	return out.Flush()
}
