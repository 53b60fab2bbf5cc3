package failover

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
)

// event is something that a Sentinel made known, by a message on the channel
// of that name (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages).
type event struct {
	at   int64 // when it arrived here
	name string
	text string
}

// The events that are looked for.
const (
	subjectivelyDown = "+sdown"
	objectivelyDown  = "+odown"
	failoverTried    = "+try-failover"
	leaderElected    = "+elected-leader"
	replicaPromoted  = "+promoted-slave"
	primarySwitched  = "+switch-master"
	noGoodReplica    = "-failover-abort-no-good-slave"
	notElected       = "-failover-abort-not-elected"
)

// watcher listens to every Sentinel.
type watcher struct {
	now    func() int64
	close  func()
	mu     sync.Mutex
	events []event
	more   chan struct{} // closed, and made anew, with each event
}

// watch subscribes to all channels of all Sentinels, and returns when each has
// confirmed it.
func watch(ctx context.Context, r env.Redis, now func() int64) (*watcher, error) {
	w := &watcher{now: now, more: make(chan struct{})}
	var subscriptions []*redis.PubSub
	var clients []*redis.SentinelClient
	w.close = func() {
		for _, s := range subscriptions {
			_ = s.Close()
		}
		for _, c := range clients {
			_ = c.Close()
		}
	}
	for _, addr := range r.Sentinels {
		c := redis.NewSentinelClient(r.SentinelOptions(addr))
		clients = append(clients, c)
		s := c.PSubscribe(ctx, "*")
		subscriptions = append(subscriptions, s)
		if _, err := s.ReceiveTimeout(ctx, patience); err != nil {
			w.close()
			return nil, fmt.Errorf("listening to the Sentinel on %s: %w", addr, err)
		}
		go w.listen(s.Channel())
	}
	return w, nil
}

func (w *watcher) listen(messages <-chan *redis.Message) {
	for m := range messages {
		w.add(event{at: w.now(), name: m.Channel, text: m.Payload})
	}
}

func (w *watcher) add(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	close(w.more)
	w.more = make(chan struct{})
}

// first is the first event of one of these names after a time.
func (w *watcher) first(after int64, names ...string) (event, bool) {
	return w.find(after, func(e event) bool { return slices.Contains(names, e.name) })
}

func (w *watcher) find(after int64, match func(event) bool) (event, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.events, func(e event) bool { return e.at >= after && match(e) })
	if i < 0 {
		return event{}, false
	}
	return w.events[i], true
}

// count counts the events of a name before a time.
func (w *watcher) count(name string, before int64) (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.name == name && e.at < before {
			n++
		}
	}
	return n
}

// await waits for an event after a time. ok is false where there was none
// within the bound.
func (w *watcher) await(ctx context.Context, after int64, within time.Duration, match func(event) bool) (e event, ok bool) {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	for {
		w.mu.Lock()
		more := w.more
		w.mu.Unlock()
		if e, ok := w.find(after, match); ok {
			return e, true
		}
		select {
		case <-more:
		case <-timeout.C:
			return event{}, false
		case <-ctx.Done():
			return event{}, false
		}
	}
}

// switchedFrom matches the news that another than this address is the
// primary. Sentinels tell of one failover at different times.
func (t *trial) switchedFrom(primary string) func(event) bool {
	return func(e event) bool { return e.name == primarySwitched && t.reach(e.switchedTo()) != primary }
}

// switchedTo is the new primary's address in a +switch-master.
func (e event) switchedTo() string {
	fields := strings.Fields(e.text) // name, old host, old port, new host, new port
	if len(fields) != 5 {
		return ""
	}
	return net.JoinHostPort(fields[3], fields[4])
}
