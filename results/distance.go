package results

import (
	"fmt"
	"strings"
	"time"
)

// Distance is how far apart things were during a run: round trips that links
// added, in nanoseconds. The zero Distance is none.
type Distance struct {
	ReplicaNS int64 // from the primary to its replicas
	ClientNS  int64 // from the client to the Redis servers
}

// Distance is where the path was measured.
func (p Path) Distance() Distance { return Distance{p.ReplicaRTTNS, p.ClientRTTNS} }

// String is how a label ends: @1ms, @client=500µs, @1ms,client=500µs, or
// nothing where there is no distance.
func (d Distance) String() string {
	var parts []string
	if d.ReplicaNS > 0 {
		parts = append(parts, time.Duration(d.ReplicaNS).String())
	}
	if d.ClientNS > 0 {
		parts = append(parts, clientMark+time.Duration(d.ClientNS).String())
	}
	if len(parts) == 0 {
		return ""
	}
	return "@" + strings.Join(parts, ",")
}

// tag is the distance in the tag of an interval log.
func (d Distance) tag() string {
	tag := fmt.Sprintf("rtt=%d", d.ReplicaNS)
	if d.ClientNS > 0 {
		tag += fmt.Sprintf(";client-rtt=%d", d.ClientNS)
	}
	return tag
}

const clientMark = "client="

// parseDistance undoes String, but for the @.
func parseDistance(text string) (d Distance, err error) {
	for part := range strings.SplitSeq(text, ",") {
		into := &d.ReplicaNS
		if rest, found := strings.CutPrefix(part, clientMark); found {
			part, into = rest, &d.ClientNS
		}
		rtt, err := time.ParseDuration(part)
		if err != nil || rtt <= 0 {
			return Distance{}, fmt.Errorf("%q is no round trip", part)
		}
		*into = int64(rtt)
	}
	return d, nil
}

// splitDistance takes the distance off a label. What follows an @ and is
// none belongs to the label.
func splitDistance(label string) (path string, d Distance) {
	at := strings.LastIndexByte(label, '@')
	if at < 0 {
		return label, d
	}
	d, err := parseDistance(label[at+1:])
	if err != nil {
		return label, d
	}
	return label[:at], d
}

// Trip is a round trip across a link as probes saw it during a run, by turns
// through the link and around it.
type Trip struct {
	AskedNS int64 `json:"asked_ns"`
	// Through the link, less the median of those around it.
	P50NS      int64 `json:"p50_ns"`
	P90NS      int64 `json:"p90_ns"`
	P99NS      int64 `json:"p99_ns"`
	DirectNS   int64 `json:"direct_p50_ns"` // that median
	OverheadNS int64 `json:"overhead_ns"`   // what the link adds when it holds nothing back
	Probes     int64 `json:"probes"`
	Failed     int64 `json:"failed_probes"`
}

// measured tells whether the difference that P50NS is means anything: not
// where the server took longer than the distance.
func (t Trip) measured() bool { return t.DirectNS < t.AskedNS }

// tripOff is how far from what was asked for the median of a round trip may
// be without a remark.
const tripOff = 50 * time.Microsecond

// Remark is what a reader must know of the trip, "" for nothing.
func (t Trip) Remark(whose string) string {
	if t.AskedNS > 0 && !t.measured() {
		return fmt.Sprintf("%s round trip could not be measured: without the link a PING took %s at the median, where %s was asked for",
			whose, FormatDuration(t.DirectNS), FormatDuration(t.AskedNS))
	}
	off := t.P50NS - t.AskedNS
	if t.AskedNS == 0 || -int64(tripOff) <= off && off <= int64(tripOff) {
		return ""
	}
	return fmt.Sprintf("%s round trip: it was %s at the median, where %s was asked for", whose, FormatDuration(t.P50NS), FormatDuration(t.AskedNS))
}
