package results

// Histogram is a distribution of nanoseconds.
type Histogram struct{}
