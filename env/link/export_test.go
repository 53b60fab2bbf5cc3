package link

// Relay lets tests have a relay in their own process, where the race detector
// sees it.
type Relay = relay

// NewRelay makes one.
func NewRelay(targets ...string) (*Relay, error) { return newRelay(targets) }
