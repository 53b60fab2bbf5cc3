package link

import "time"

// hold is how a Link holds chunks back: simply, one after the other.
type hold struct {
	oneWay, jitter time.Duration
	given          [2]reservoir
}

// SetDelay has every chunk, in both directions, wait before it is forwarded,
// as delay says. The next chunk of its connection and direction waits for it:
// this shows that messages go by the link, and is no distance, which is what
// a Process is for. Close waits for chunks that wait.
func (l *Link) SetDelay(oneWay, jitter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold.oneWay, l.hold.jitter = oneWay, jitter
}

// Delays is how long chunks waited: out to the server, and back from it.
func (l *Link) Delays() (out, back Quantiles) {
	return l.hold.given[request].quantiles(), l.hold.given[reply].quantiles()
}

func (l *Link) wait(d direction) {
	l.mu.Lock()
	due := delay{l.hold.oneWay, l.hold.jitter}.due(0)
	l.mu.Unlock()
	time.Sleep(due)
	l.hold.given[d].add(due)
}
