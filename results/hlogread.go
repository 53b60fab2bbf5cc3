package results

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// ReadIntervals returns the intervals of a path's log in the run's folder
// dir, in the order written. The label names the path as Path.Label does;
// one that ends in a distance, such as setnx-wait@1ms, gets the runs at that
// distance only, and one without gets every run in the log (see
// Path.Intervals). A last line cut short, by a driver killed while it wrote,
// is left out; damage anywhere else is an error that names the line.
func ReadIntervals(dir, label string) ([]Interval, error) {
	path := logPath(dir, label)
	file, err := os.Open(path)
	if err != nil {
		return nil, describe("read the interval log", path, err)
	}
	defer file.Close()
	intervals, err := parseLog(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, d := splitDistance(label); d != (Distance{}) {
		intervals = atDistance(intervals, d)
	}
	return intervals, nil
}

// Intervals returns the path's own intervals: its log's at its distance.
func (p Path) Intervals(dir string) ([]Interval, error) {
	intervals, err := ReadIntervals(dir, p.optioned())
	return atDistance(intervals, p.Distance()), err
}

func atDistance(intervals []Interval, d Distance) []Interval {
	var kept []Interval
	for _, i := range intervals {
		if i.Distance == d {
			kept = append(kept, i)
		}
	}
	return kept
}

// logParser carries what the lines before say about the next one.
type logParser struct {
	base      time.Time
	runStart  map[runKey]time.Time
	intervals []Interval
}

// runKey tells the runs in one log apart: distances share the log.
type runKey struct {
	run      int
	distance Distance
}

func parseLog(r *bufio.Reader) ([]Interval, error) {
	p := logParser{runStart: map[runKey]time.Time{}}
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return p.intervals, nil // a line without its end was cut short
		}
		if err != nil {
			return nil, err
		}
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

func (p *logParser) line(line string) error {
	switch {
	case strings.HasPrefix(line, logBase):
		var sec int64
		if _, err := fmt.Sscanf(line, logBase+"%d.", &sec); err != nil {
			return fmt.Errorf("base time: %w", err)
		}
		p.base = time.Unix(sec, 0)
	case strings.HasPrefix(line, logRun):
		var key runKey
		var start int64
		d := &key.distance
		_, err := fmt.Sscanf(line, logRun+"%d rtt=%d client-rtt=%d start=%d]", &key.run, &d.ReplicaNS, &d.ClientNS, &start)
		if err != nil { // as before there was a client distance
			_, err = fmt.Sscanf(line, logRun+"%d rtt=%d start=%d]", &key.run, &d.ReplicaNS, &start)
		}
		if err != nil {
			return fmt.Errorf("start of a run: %w", err)
		}
		p.runStart[key] = time.Unix(0, start)
	case strings.HasPrefix(line, "Tag="):
		i, err := p.interval(strings.TrimPrefix(line, "Tag="))
		if err != nil {
			return err
		}
		p.intervals = append(p.intervals, i)
	}
	return nil // comments, the legend, and lines that are not ours
}

// interval parses tag,start,length,max,histogram.
func (p *logParser) interval(line string) (Interval, error) {
	fields := strings.Split(line, ",")
	if len(fields) != 5 {
		return Interval{}, fmt.Errorf("%d fields where an interval has 5", len(fields))
	}
	i, err := parseTag(fields[0])
	if err != nil {
		return i, err
	}
	runStart, ok := p.runStart[runKey{i.Run, i.Distance}]
	if !ok {
		return i, fmt.Errorf("run %d has no line that states its start", i.Run)
	}
	sinceBase, errStart := parseDecimal(fields[1], 9)
	length, errLength := parseDecimal(fields[2], 9)
	maxNS, errMax := parseDecimal(fields[3], 6)
	for _, err := range []error{errStart, errLength, errMax} {
		if err != nil {
			return i, err
		}
	}
	i.StartNS = int64(p.base.Add(time.Duration(sinceBase)).Sub(runStart))
	i.LengthNS = length
	hdr, err := hdrhistogram.Decode([]byte(fields[4]))
	if err != nil {
		return i, fmt.Errorf("decode a histogram: %w", err)
	}
	i.Histogram = decoded(hdr, maxNS)
	return i, nil
}

func parseTag(tag string) (i Interval, err error) {
	for _, part := range strings.Split(tag, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "run":
			i.Run, err = strconv.Atoi(value)
		case "rtt":
			i.Distance.ReplicaNS, err = strconv.ParseInt(value, 10, 64)
		case "client-rtt":
			i.Distance.ClientNS, err = strconv.ParseInt(value, 10, 64)
		case "span":
			i.Span = SpanName(value)
		}
		if err != nil {
			return i, fmt.Errorf("tag %q: %w", tag, err)
		}
	}
	return i, nil
}

// parseDecimal undoes decimal. A float64 holds it exactly up to 2^53.
func parseDecimal(s string, places int) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	return int64(math.Round(f * math.Pow10(places))), nil
}

// decoded makes a Histogram of one read from a log. Its maximum is the log's
// Interval_Max where that lies in the top bucket, as it does in logs that
// this package wrote; minimum and sum are as good as the buckets.
func decoded(hdr *hdrhistogram.Histogram, maxNS int64) *Histogram {
	h := &Histogram{hdr: hdr, min: hdr.Min(), max: hdr.Max()}
	if hdr.ValuesAreEquivalent(maxNS, h.max) {
		h.max = maxNS
	}
	h.min = min(h.min, h.max)
	h.sum = hdr.Mean() * float64(hdr.TotalCount())
	return h
}
