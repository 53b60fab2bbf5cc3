package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// An interval log is a text file in the format of HdrHistogram's log writers
// (version 1.3, histograms in V2 encoding): values in nanoseconds,
// Interval_Max in milliseconds, timestamps in seconds.
//
//   - StartTime is the start of the first run, to the millisecond.
//   - BaseTime is a whole second, and timestamps count from it. The standard
//     readers add the two as floating-point numbers and cut to milliseconds;
//     with a whole second in one of them the sum is right to the millisecond.
//   - A comment before each run states its start to the nanosecond, so that
//     ReadIntervals can give times within the run back without loss.
//   - Interval_Max is exact, where the histogram has only a bucket.
const (
	logBanner = "#[Histogram log format version 1.3]\n"
	logUnits  = "#[lockcost: values in nanoseconds, Interval_Max in milliseconds]\n"
	logLegend = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
	logBase   = "#[BaseTime: "
	logRun    = "#[Run: "
)

// logWriter appends one run to an interval log.
type logWriter struct {
	file     *os.File
	buf      *bufio.Writer
	base     time.Time // whole second
	runStart time.Time
	run      int
	distance Distance
}

// openLog opens the log for appending and writes what must stand before a
// run's intervals: the header if the file is new, and the run's start.
func openLog(path string, run int, d Distance, runStart time.Time) (*logWriter, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, describe("open the interval log", path, err)
	}
	w := &logWriter{file: file, buf: bufio.NewWriterSize(file, 64<<10), run: run, distance: d, runStart: runStart}
	if err := w.writeHeader(); err != nil {
		file.Close()
		return nil, describe("write the interval log", path, err)
	}
	return w, nil
}

func (w *logWriter) writeHeader() error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		if w.base, err = readBase(w.file); err != nil {
			return err
		}
	} else {
		w.base = w.runStart.Truncate(time.Second)
		ms := w.runStart.UnixMilli()
		fmt.Fprint(w.buf, logBanner)
		fmt.Fprintf(w.buf, "#[StartTime: %d.%03d (seconds since epoch), %s]\n",
			ms/1000, ms%1000, w.runStart.UTC().Format("2006-01-02T15:04:05.000Z"))
		fmt.Fprintf(w.buf, "%s%d.000 (seconds since epoch)]\n", logBase, w.base.Unix())
		fmt.Fprint(w.buf, logUnits, logLegend)
	}
	_, err = fmt.Fprintf(w.buf, "%s%d rtt=%d client-rtt=%d start=%d]\n", logRun, w.run, w.distance.ReplicaNS, w.distance.ClientNS, w.runStart.UnixNano())
	return err
}

// readBase finds the base time in the header of a log.
func readBase(r io.Reader) (time.Time, error) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() && strings.HasPrefix(scanner.Text(), "#") {
		var sec int64
		if n, _ := fmt.Sscanf(scanner.Text(), logBase+"%d.", &sec); n == 1 {
			return time.Unix(sec, 0), nil
		}
	}
	return time.Time{}, errors.New("the file has no base time: it is no interval log of lockcost")
}

// write appends one interval. start counts from the run's start.
func (w *logWriter) write(span SpanName, start, length time.Duration, h *Histogram) error {
	if h.Count() == 0 {
		return nil
	}
	payload, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return fmt.Errorf("encode a histogram: %w", err)
	}
	_, err = fmt.Fprintf(w.buf, "Tag=run=%d;%s;span=%s,%s,%s,%s,%s\n", w.run, w.distance.tag(), span,
		decimal(int64(w.runStart.Add(start).Sub(w.base)), 9), decimal(int64(length), 9),
		decimal(h.Max(), 6), payload)
	return err
}

// close makes the run durable and closes the file.
func (w *logWriter) close() error {
	return firstError(w.buf.Flush(), w.file.Sync(), w.file.Close())
}

// decimal writes n shifted right by places decimal digits, exactly.
func decimal(n int64, places int) string {
	unit := int64(1)
	for range places {
		unit *= 10
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%0*d", sign, n/unit, places, n%unit)
}

// logPath is where a label's interval log is in a run's folder.
func logPath(dir, label string) string { return filepath.Join(dir, logName(label)) }
