package results

// Interval is one second of one span in one run: an entry of a path's
// interval log. Times count from the start of the measured window.
type Interval struct {
	Run       int // index of the run
	Distance  Distance
	Span      SpanName
	StartNS   int64
	LengthNS  int64
	Histogram *Histogram
}

// Pool merges the histograms of the intervals that keep accepts: the way to
// a percentile over several seconds or several runs.
func Pool(intervals []Interval, keep func(Interval) bool) *Histogram {
	pooled := NewHistogram()
	for _, i := range intervals {
		if keep(i) {
			pooled.Merge(i.Histogram)
		}
	}
	return pooled
}
