package container

import "time"

// WithPort has stacks try these ports.
func (p Provider) WithPort(port func() (int, error)) Provider {
	p.port = port
	return p
}

// WithReady bounds starts.
func (p Provider) WithReady(d time.Duration) Provider {
	p.ready = d
	return p
}
