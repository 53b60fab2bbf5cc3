package failover

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
)

// How the replication window is measured.
const (
	idleRate     = 20 // a second: each lock finds the servers idle
	windowLength = 5 * time.Second
	windowPath   = "setnx"
)

// windows measures how long granted locks are not yet on the replica, at
// several rates and round trips.
func (r *runner) windows(ctx context.Context) error {
	for _, rtt := range r.plan.ReplicaRTTs {
		for _, rate := range []float64{idleRate, r.plan.Rate / 2, r.plan.Rate} {
			r.watch(Progress{Step: fmt.Sprintf("measuring the replication window at %v/s, replica %v away", rate, rtt), Done: r.done, Total: r.total})
			w, err := r.window(ctx, rate, rtt)
			if err != nil {
				return fmt.Errorf("measuring the replication window: %w", err)
			}
			r.record.Windows = append(r.record.Windows, w)
			if err := r.keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// window measures one.
func (r *runner) window(ctx context.Context, rate float64, rtt time.Duration) (w results.Window, err error) {
	stack, err := r.ground.provider.Start(ctx, env.Spec{Replicas: 1, Links: rtt > 0, Pin: placement.Current().Pin()})
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	if rtt > 0 {
		if err := stack.Distance.Set(ctx, rtt, 0, 0); err != nil {
			return w, err
		}
	}
	path, err := workloads.Find(windowPath)
	if err != nil {
		return w, err
	}
	settings := workloads.Settings{Prefix: "lockcost:window:", OpTimeout: r.plan.OpTimeout, Workers: 64}
	session, err := path.Open(ctx, stack, settings)
	if err != nil {
		return w, err
	}
	defer session.Close()
	if err := fed(ctx, stack, settings.Prefix, 1); err != nil {
		return w, err
	}
	seen, err := sightings(ctx, stack, settings.Prefix)
	if err != nil {
		return w, err
	}
	plan := load.Plan{
		Rate: rate, Warmup: time.Second, Duration: windowLength, Workers: 1024, Timeout: r.plan.OpTimeout, Sleep: stack.Unplaced(),
	}
	warmup := load.WarmupSlots(plan)
	g := &grants{at: map[int64]time.Time{}}
	recording, err := load.Run(ctx, plan, func(ctx context.Context) (context.Context, load.Operation) {
		return ctx, func(ctx context.Context, o *load.Op) error {
			lease, err := session.Locker.TryLock(ctx, settings.Prefix+strconv.FormatInt(o.Slot, 10), r.plan.TTL)
			if err != nil {
				return err
			}
			if at := time.Now(); o.Slot >= warmup {
				g.add(o.Slot, at)
			}
			return lease.Unlock(ctx)
		}
	})
	time.Sleep(rtt + 500*time.Millisecond) // what is still under way
	at, deaf := seen.close()
	if err := errors.Join(err, deaf); err != nil {
		return w, err
	}
	if recording.Interrupted {
		return w, context.Cause(ctx)
	}
	w = g.window(at)
	w.RatePerS, w.ReplicaRTT, w.Path = rate, int64(rtt), windowPath
	return w, nil
}

// grants is when locks were granted, by slot.
type grants struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (g *grants) add(slot int64, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at[slot] = at
}

// window holds the grants against when the replica had them.
func (g *grants) window(seen map[int64]time.Time) (w results.Window) {
	h := results.NewHistogram()
	for slot, granted := range g.at {
		visible, ok := seen[slot]
		if !ok {
			w.Unseen++
			continue
		}
		if !visible.After(granted) {
			w.Early++
		}
		h.Record(int64(max(0, visible.Sub(granted))))
	}
	w.Visible = h.Span()
	return w
}

// sighted is what the replica tells of keys that it has been sent.
type sighted struct {
	client *redis.Client
	pubsub *redis.PubSub
	ended  chan struct{}
	at     map[int64]time.Time
	err    error // why it listens no more; valid once ended is closed
}

// sightings has the replica tell of each key that it writes
// (https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/). What
// it tells takes as long to arrive as the primary's reply to whoever was
// granted the lock, so the two can be compared.
func sightings(ctx context.Context, stack *env.Stack, prefix string) (*sighted, error) {
	c := redis.NewClient(stack.Redis.Options(stack.Redis.Replicas[0]))
	if err := c.ConfigSet(ctx, "notify-keyspace-events", "K$").Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("asking the replica for notifications: %w", err), c.Close())
	}
	channel := "__keyspace@0__:" + prefix
	s := &sighted{client: c, pubsub: c.PSubscribe(ctx, channel+"*"), ended: make(chan struct{}), at: map[int64]time.Time{}}
	if _, err := s.pubsub.ReceiveTimeout(ctx, patience); err != nil {
		return nil, errors.Join(fmt.Errorf("listening to the replica: %w", err), s.pubsub.Close(), c.Close())
	}
	go func() {
		defer close(s.ended)
		for {
			m, err := s.pubsub.ReceiveMessage(ctx)
			at := time.Now()
			if err != nil {
				s.err = err
				return
			}
			slot, err := strconv.ParseInt(strings.TrimPrefix(m.Channel, channel), 10, 64)
			if err == nil && m.Payload == "set" {
				s.at[slot] = at
			}
		}
	}()
	return s, nil
}

// close ends the listening and returns what was heard, and why it had ended
// where that was before.
func (s *sighted) close() (map[int64]time.Time, error) {
	var err error
	select {
	case <-s.ended:
		err = fmt.Errorf("listening to the replica: %w", s.err)
	default:
	}
	_ = s.pubsub.Close()
	<-s.ended
	_ = s.client.Close()
	return s.at, err
}
