package results

import "time"

// CapacitySchema names the layout of capacity.json.
const CapacitySchema = "lockcost/capacity/v1"

// Capacity is the content of capacity.json: one `lockcost sweep`. Everything
// that was measured is in Points; Paths and Sensitivity are computed from
// them (Conclude), and can be computed again.
type Capacity struct {
	Schema      string      `json:"schema"`
	StartedAt   time.Time   `json:"started_at"`
	EndedAt     time.Time   `json:"ended_at"`
	Interrupted bool        `json:"interrupted"` // more was to be measured: the same command goes on
	Environment Environment `json:"environment"`
	Doctor      Doctor      `json:"doctor"`
	// Plan is what is common to all points, but for what they vary. Its rate
	// and runs are the sensitivity's.
	Plan   Plan   `json:"plan"`
	Search Search `json:"search"`
	// Arguments are the flags it was started with, so that a start with the
	// folder alone can go on; empty with servers of the user's, as they may hold
	// passwords.
	Arguments []string `json:"arguments,omitempty"`
	// Down are nodes that had been ended before anything was measured.
	Down        []string      `json:"down,omitempty"`
	Points      []Point       `json:"points"`
	Paths       []Answer      `json:"paths"`
	Sensitivity []Sensitivity `json:"sensitivity"`
}

// Search is what was searched for: for each path and SLO the highest rate
// that meets it.
type Search struct {
	SLOs []SLO `json:"slos"` // none: nothing was searched for
	// FromPerS is the rate of the first step, which is doubled until one
	// fails, and halved where it fails itself. ToPerS is the highest and
	// LeastPerS the lowest to try.
	FromPerS       float64 `json:"from_per_s"`
	ToPerS         float64 `json:"to_per_s"`
	LeastPerS      float64 `json:"least_per_s"`
	PrecisionRatio float64 `json:"precision_ratio"` // that the first failing rate is at most above the highest passing one
	Runs           int     `json:"runs"`            // of each of the two steps at the boundary
	StepNS         int64   `json:"step_ns"`         // least length of a step; one is longer where its percentile needs more samples
	Varied         []Vary  `json:"varied"`          // of the sensitivity
}

// Vary is one condition and the values that it was given.
type Vary struct {
	Name   string   `json:"name"`   // of the flag: replica-rtt, hold, keys …
	Values []string `json:"values"` // as they were written
}

// Value is a condition's value at a point.
type Value struct {
	Name string `json:"name"`
	Text string `json:"value"` // as it was written
	// Number is the value to compute with: nanoseconds of a duration, else
	// the number itself.
	Number float64 `json:"number"`
}

// Point is one path under one set of conditions at one rate, with all its
// runs. The runs' Index is unique among all points of one path, as the
// interval log's runs are.
type Point struct {
	Path
	RatePerS float64 `json:"rate_per_s"` // offered; 0 of a closed loop
	// DurationNS is the measured window of each of its runs.
	DurationNS int64 `json:"duration_ns"`
	// Clients is the number of clients of a closed loop, each of which begins
	// its next operation when its last has ended; 0 for an open loop.
	Clients int `json:"clients,omitempty"`
	// Varied is the condition that differs from the plan's; nil for none.
	Varied *Value `json:"varied,omitempty"`
	// Blocks are the runs' blocks, in the order of Runs: runs of one block
	// belong together. Below 0 is none.
	Blocks []int `json:"blocks,omitempty"`
}

// Same tells whether the other point has the same path, rate and conditions.
func (p Point) Same(o Point) bool {
	return p.Label() == o.Label() && p.RatePerS == o.RatePerS && (p.Clients > 0) == (o.Clients > 0) &&
		(p.Varied == nil) == (o.Varied == nil) && (p.Varied == nil || *p.Varied == *o.Varied)
}

// InBlock is how many runs of the point were made in a block, and whether one
// of them counts: is not invalid.
func (p Point) InBlock(block int) (runs int, counts bool) {
	for i, run := range p.Runs {
		if p.Blocks[i] == block {
			runs++
			counts = counts || run.Verdict != Invalid
		}
	}
	return runs, counts
}

// IsStep tells whether the point is a step of the search: in an open loop and
// with nothing varied.
func (p Point) IsStep() bool { return p.Clients == 0 && p.Varied == nil }

// Limit says what set the limit of a rate.
type Limit string

// The limits.
const (
	// LimitSystem: the next step up failed its SLO, or was not kept up with.
	LimitSystem Limit = "system"
	// LimitInstrument: the next step up could not be driven. The system's
	// limit is not known, and lies higher.
	LimitInstrument Limit = "instrument"
	// LimitNone: the highest rate that was tried passed.
	LimitNone Limit = "none found"
)

// Answer is what the search came to for one path and one SLO.
type Answer struct {
	Path         string            `json:"path"`
	Options      map[string]string `json:"options"`
	ReplicaRTTNS int64             `json:"replica_rtt_ns"`
	ClientRTTNS  int64             `json:"client_rtt_ns"`
	SLO          SLO               `json:"slo"`
	// MaxRatePerS is the highest rate that passed below the first that did
	// not; nil where no rate met the SLO, or none was measured yet.
	MaxRatePerS *float64 `json:"max_rate_per_s"`
	// FirstFailingPerS is the lowest rate that did not pass: that failed, or,
	// with LimitInstrument, that could not be driven. Nil with LimitNone.
	FirstFailingPerS *float64 `json:"first_failing_rate_per_s"`
	Limit            Limit    `json:"limit"`
	Reason           string   `json:"reason"` // why the first failing step did not pass, in words
	// Confirmed tells whether both steps at the boundary have as many runs as
	// were asked for. Without, the rates are what is known so far.
	Confirmed bool `json:"confirmed"`
	// KneeRatePerS is the knee, see KneeDefinition; nil where none shows
	// within the rates that were measured.
	KneeRatePerS *float64    `json:"knee_rate_per_s"`
	Steps        []Step      `json:"steps"` // by rate
	Closed       *ClosedLoop `json:"closed_loop,omitempty"`
}

// KneeDefinition says what KneeRatePerS is.
const KneeDefinition = "the knee is the rate with the greatest power, rate over the SLO's percentile of the response (Kleinrock 1979), " +
	"among the steps that were driven, where a higher one has less"

// Outcome is what became of a step.
type StepOutcome string

// The outcomes of a step.
const (
	StepPassed     StepOutcome = "passed"
	StepFailed     StepOutcome = "failed"
	StepInstrument StepOutcome = "instrument" // could not be driven
	StepUndecided  StepOutcome = "undecided"  // disturbed, and not yet measured again often enough
)

// Step is one rate of one path, held against one SLO.
type Step struct {
	RatePerS     float64 `json:"rate_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"` // median over the runs that count
	Runs         int     `json:"runs"`           // that count: driven, not invalid
	Invalid      int     `json:"invalid_runs"`
	// ValueNS is the SLO's percentile: its median over the runs. UpperNS is
	// the upper bound that is held against the SLO: of the interval over the
	// runs where there are enough for one, else the median of the runs' own
	// upper bounds (Run.UpperNS). Nil where there is none, as runs were
	// saturated or too short.
	ValueNS *int64      `json:"value_ns"`
	UpperNS *int64      `json:"upper_ns"`
	Outcome StepOutcome `json:"outcome"`
	Reason  string      `json:"reason,omitempty"`
}

// ClosedLoop is a path driven by as many clients as the open loop had
// operations in flight at the highest passing rate, each beginning its next
// operation when its last has ended, beside the open loop at that rate.
type ClosedLoop struct {
	Clients      int     `json:"clients"`
	Runs         int     `json:"runs"`
	AchievedPerS float64 `json:"achieved_per_s"` // median over the runs
	ValueNS      *int64  `json:"value_ns"`       // the SLO's percentile, median over the runs
	// Open is the open loop's step at the highest passing rate.
	Open Step `json:"open"`
}

// Sensitivity is how one span's percentile of one path answers to one
// condition.
type Sensitivity struct {
	Name       string            `json:"name"` // of the condition
	Path       string            `json:"path"`
	Options    map[string]string `json:"options"`
	Span       SpanName          `json:"span"`
	Percentile Percentile        `json:"percentile"`
	RatePerS   float64           `json:"rate_per_s"`
	// Of says what the line is through: cost, the difference from setnx in the
	// same blocks, or level.
	Of     string           `json:"of"`
	Values []SensitivityAt  `json:"values"` // by number
	Line   *SensitivityLine `json:"line,omitempty"`
}

// SensitivityAt is the path at one value of the condition.
type SensitivityAt struct {
	Value
	Level Level  `json:"level"`
	Cost  *Cost  `json:"cost,omitempty"`  // against setnx under the same condition; nil for setnx itself
	Doubt string `json:"doubt,omitempty"` // why the runs may not be believed: saturated, …
}

// SensitivityLine is a straight line through the values, where one is
// expected: y = InterceptNS + Slope × the condition's number. The line is
// fitted by least squares in each block, and the median over the blocks is
// taken with its exact order-statistic interval, as for a Level.
type SensitivityLine struct {
	N             int      `json:"n"`     // blocks
	Slope         float64  `json:"slope"` // ns for each ns, or for each unit of the condition
	SlopeLow      *float64 `json:"slope_low"`
	SlopeHigh     *float64 `json:"slope_high"`
	InterceptNS   float64  `json:"intercept_ns"`
	InterceptLow  *float64 `json:"intercept_low_ns"`
	InterceptHigh *float64 `json:"intercept_high_ns"`
	Confidence    float64  `json:"confidence"` // 0 to 1; 0 where there are too few blocks
	// R2Ratio is the share of the values' variance that the line explains, and
	// WorstNS the greatest distance of a value's median from it.
	R2Ratio  float64 `json:"r2_ratio"`
	WorstNS  float64 `json:"worst_ns"`
	Expected string  `json:"expected"` // what slope is expected, and why, in words
}
