package link

import (
	"math/rand/v2"
	"time"
)

// delay is how long chunks are held back.
type delay struct {
	oneWay, jitter time.Duration
}

// SetDelay has every chunk, in both directions and on every connection, that
// is read from now on forwarded oneWay after it was read. With jitter each
// chunk's delay is drawn uniformly from oneWay-jitter/2 to oneWay+jitter/2,
// though never below 0, and no chunk overtakes another. Throughput is not
// limited. 0 forwards at once.
func (l *Link) SetDelay(oneWay, jitter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay{max(oneWay, 0), max(jitter, 0)}
}

// Delays is how long chunks were held back since the link was made or
// ForgetDelays was called: out to the server, and back from it.
func (l *Link) Delays() (out, back Quantiles) {
	return l.given[request].quantiles(), l.given[reply].quantiles()
}

// ForgetDelays begins the count of Delays anew.
func (l *Link) ForgetDelays() {
	for i := range l.given {
		l.given[i].reset()
	}
}

// due draws when a chunk that was read at that time is to be forwarded.
func (l *Link) due(read time.Duration) time.Duration {
	l.mu.Lock()
	d := l.delay
	l.mu.Unlock()
	if d.jitter > 0 {
		d.oneWay += rand.N(d.jitter+1) - d.jitter/2
	}
	return read + max(d.oneWay, 0)
}

// given is the delays that a link gave, a direction each.
type given [2]reservoir
