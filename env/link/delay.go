package link

import (
	"math/rand/v2"
	"time"
)

// delay is how long chunks are held back: oneWay, or with jitter a time drawn
// uniformly from oneWay-jitter/2 to oneWay+jitter/2, though never below 0.
type delay struct {
	oneWay, jitter time.Duration
}

// due draws when a chunk that was read at that time is to be forwarded.
func (d delay) due(read time.Duration) time.Duration {
	if d.jitter > 0 {
		d.oneWay += rand.N(d.jitter+1) - d.jitter/2
	}
	return read + max(d.oneWay, 0)
}
