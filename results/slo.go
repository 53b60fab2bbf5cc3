package results

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SLO is a service level objective of one percentile of one span: at most
// LimitNS nanoseconds. It is written p99=5ms for the acquire response, and
// total:p99=20ms for another span. In JSON it is that text.
type SLO struct {
	Span       SpanName
	Percentile Percentile
	LimitNS    int64
}

// sloSpans are the spans that an SLO may be of.
var sloSpans = []SpanName{SpanAcquire, SpanTotal, SpanEffect, SpanRelease}

// HasSLO tells whether an SLO may be of the span.
func HasSLO(span SpanName) bool { return slices.Contains(sloSpans, span) }

// ParseSLO reads an SLO as it is written. Its error says what is wrong with
// it, and how one is written.
func ParseSLO(text string) (SLO, error) {
	s := SLO{Span: SpanAcquire}
	name, limit, given := strings.Cut(strings.TrimSpace(text), "=")
	if !given {
		return s, fmt.Errorf("SLO %q: write a percentile and its limit, such as p99=5ms", text)
	}
	if span, percentile, found := strings.Cut(name, ":"); found {
		s.Span, name = SpanName(span), percentile
		if !HasSLO(s.Span) {
			return s, fmt.Errorf("SLO %q: %q is no span: give one of %s, or none for acquire", text, span, list(sloSpans))
		}
	}
	s.Percentile = Percentile(strings.ReplaceAll(strings.ToLower(name), ".", "_"))
	if !s.Percentile.known() {
		return s, fmt.Errorf("SLO %q: the percentiles are p50, p90, p99 and p99.9, not %q", text, name)
	}
	d, err := time.ParseDuration(limit)
	if err != nil {
		return s, fmt.Errorf("SLO %q: %q is no duration with a unit, such as 5ms or 800us", text, limit)
	}
	if d <= 0 {
		return s, fmt.Errorf("SLO %q: the limit must be above 0", text)
	}
	s.LimitNS = int64(d)
	return s, nil
}

func list[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts, ", ")
}

// String is the SLO as it is written.
func (s SLO) String() string {
	text := strings.ReplaceAll(string(s.Percentile), "_", ".") + "=" + time.Duration(s.LimitNS).String()
	if s.Span != SpanAcquire {
		text = string(s.Span) + ":" + text
	}
	return text
}

// Title is the SLO for people: acquire P99 ≤ 5 ms.
func (s SLO) Title() string {
	return fmt.Sprintf("%s %s ≤ %s", s.Span, s.Percentile.Title(), FormatDuration(s.LimitNS))
}

// MarshalText writes the SLO as String does.
func (s SLO) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *SLO) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSLO(string(text))
	return err
}
