package results

import (
	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every histogram. A value is kept to within one
// part in a thousand, which is far below the spread between runs.
const (
	histogramLowestNS  = 1
	histogramHighestNS = 3_600_000_000_000 // one hour
	histogramDigits    = 3
)

// Histogram is a distribution of nanoseconds from 0 to one hour, kept to
// three significant digits, with its exact minimum, maximum and sum beside
// it: the maximum that HDR histograms give is the edge of a bucket.
//
// A sample that does not fit, above the range or below 0, is counted in
// Overflow and in nothing else. Both mean that the instrument is at fault,
// and make a run invalid.
//
// The zero value is an empty histogram. A Histogram takes some 270 KB once
// it holds a sample, and must not be used by two goroutines at once.
type Histogram struct {
	hdr      *hdrhistogram.Histogram
	min, max int64
	sum      float64 // exact up to 2^53 ns, 104 days of waiting
	overflow int64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{} }

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(histogramLowestNS, histogramHighestNS, histogramDigits)
}

// Record adds one sample of ns nanoseconds.
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		h.overflow++
		return
	}
	if h.hdr == nil {
		h.hdr = newHDR()
	}
	if err := h.hdr.RecordValue(ns); err != nil {
		h.overflow++
		return
	}
	if h.Count() == 1 {
		h.min, h.max = ns, ns
	}
	h.min, h.max = min(h.min, ns), max(h.max, ns)
	h.sum += float64(ns)
}

// Merge adds all samples of o, which may be nil. Percentiles of several
// histograms are read from their merger; an average of percentiles is no
// percentile of anything.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil {
		return
	}
	h.overflow += o.overflow
	if o.Count() == 0 {
		return
	}
	if h.hdr == nil {
		h.hdr = newHDR()
	}
	if h.Count() == 0 {
		h.min, h.max = o.min, o.max
	}
	h.overflow += h.hdr.Merge(o.hdr) // the number of samples dropped
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.sum += o.sum
}

// Count is the number of samples in the range.
func (h *Histogram) Count() int64 {
	if h.hdr == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// Overflow is the number of samples that did not fit the range.
func (h *Histogram) Overflow() int64 { return h.overflow }

// Min is the least sample in nanoseconds, 0 if there is none. It is exact,
// except where the histogram was read back from an interval log: there it is
// the lower edge of its bucket.
func (h *Histogram) Min() int64 { return h.min }

// Max is the greatest sample in nanoseconds, 0 if there is none. It is exact.
func (h *Histogram) Max() int64 { return h.max }

// Mean is the mean in nanoseconds, 0 if there are no samples.
func (h *Histogram) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return h.sum / float64(h.Count())
}

// Quantile returns the value in nanoseconds that a share q (0 to 1) of the
// samples does not exceed: the sample of rank q·Count, rounded up to its
// bucket's edge but never beyond the exact minimum and maximum. It returns 0
// if there are no samples, and however few there are, it answers: see At.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	percent := min(max(q, 0), 1) * 100 // the library counts from 0 to 100
	return min(max(h.hdr.ValueAtQuantile(percent), h.min), h.max)
}

// At returns percentile p in nanoseconds. ok is false where fewer samples
// than SamplesFor(p) stand behind it: a number would be noise.
func (h *Histogram) At(p Percentile) (ns int64, ok bool) {
	if !p.known() || h.Count() < SamplesFor(p) {
		return 0, false
	}
	return h.Quantile(p.Quantile()), true
}

// Span is what the record keeps of the histogram.
func (h *Histogram) Span() Span {
	at := func(p Percentile) *int64 {
		if ns, ok := h.At(p); ok {
			return &ns
		}
		return nil
	}
	return Span{
		Count:  h.Count(),
		MinNS:  h.min,
		MeanNS: int64(h.Mean() + 0.5),
		P50NS:  at(P50), P90NS: at(P90), P99NS: at(P99), P999NS: at(P999),
		MaxNS: h.max,
	}
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	if h.hdr != nil {
		h.hdr.Reset()
	}
	h.min, h.max, h.sum, h.overflow = 0, 0, 0, 0
}
