package link

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"lockcost/env/timer"

	"golang.org/x/sync/errgroup"
)

const (
	calibrationRounds = 4
	closeEnough       = 15 * time.Microsecond // no further round

	roundTrips = 160                    // in a round, unless they take too long
	roundTime  = 500 * time.Millisecond // for a round, or one trip a connection
	// Long trips are made on several connections at once, one a tripSpacing.
	tripSpacing    = time.Millisecond
	maxConnections = 16

	// Between two trips there is a pause, as between arrivals: a CPU that
	// rests meanwhile takes longer to answer.
	tripPause  = 200 * time.Microsecond
	tripSpread = 400 * time.Microsecond
)

// calibrate finds the delay that makes a round trip through the first link
// longer by rtt than one around it, and sets it.
func (h *hub) calibrate(ctx context.Context, rtt time.Duration) (Calibration, error) {
	c := Calibration{RTT: rtt}
	h.relay.SetDelay(0, 0)
	var err error
	if c.Overhead, err = h.measure(ctx, 0); err != nil {
		return c, err
	}
	if rtt < c.Overhead {
		return c, h.tooShort(rtt, c.Overhead)
	}
	least, err := h.approach(ctx, &c)
	if err != nil {
		return c, err
	}
	if rtt < least {
		return c, h.tooShort(rtt, least)
	}
	h.relay.SetDelay(c.OneWay, 0)
	return c, nil
}

// approach tries delays, each corrected by what was seen of the one before,
// and keeps the best in c. It returns what a round trip took beyond its two
// delays: a link that holds nothing back at all waits for no timer, and
// takes less.
func (h *hub) approach(ctx context.Context, c *Calibration) (least time.Duration, err error) {
	oneWay := (c.RTT - c.Overhead) / 2
	for round := range calibrationRounds {
		h.relay.SetDelay(oneWay, 0)
		seen, err := h.measure(ctx, c.RTT)
		if err != nil {
			return 0, err
		}
		if beyond := seen - 2*oneWay; round == 0 || beyond < least {
			least = beyond
		}
		if round == 0 || (seen-c.RTT).Abs() < c.off() {
			c.OneWay, c.Seen = oneWay, seen
		}
		if c.off() <= closeEnough {
			break
		}
		// Where it would be below 0, the same again: it may have been noise.
		if next := oneWay + (c.RTT-seen)/2; next > 0 {
			oneWay = next
		}
	}
	return least, nil
}

func (h *hub) tooShort(rtt, least time.Duration) error {
	return fmt.Errorf("a round trip of %v is less than the %v that the link to %s takes by itself: ask for no less than that, or for 0, which goes without a link",
		rtt, least.Round(time.Microsecond), h.pair.direct)
}

// measure returns how much longer a round trip of about rtt takes through the
// first link than around it, by their medians.
func (h *hub) measure(ctx context.Context, rtt time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the connections
	connections := min(max(rtt/tripSpacing, 1), maxConnections)
	trips := roundTrips / connections
	if rtt > 0 {
		trips = max(min(trips, roundTime/rtt), 1)
	}
	var via, direct reservoir
	g, ctx := errgroup.WithContext(ctx)
	for i := range connections {
		g.Go(func() error {
			p := pairOfAskers{
				via:    asker{addr: h.pair.via, probe: h.pair.probe},
				direct: asker{addr: h.pair.direct, probe: h.pair.probe},
			}
			return p.ask(ctx, int(trips), rtt*i/connections, &via, &direct)
		})
	}
	err := g.Wait()
	return via.quantiles().P50 - direct.quantiles().P50, err
}

// pairOfAskers ask by turns.
type pairOfAskers struct{ via, direct asker }

func (p *pairOfAskers) ask(ctx context.Context, trips int, begin time.Duration, via, direct *reservoir) error {
	clock := timer.NewClock()
	pause, err := timer.New(clock)
	if err != nil {
		return err
	}
	defer pause.Close()
	if err := pause.Wait(clock.Now() + begin); err != nil {
		return err
	}
	for range trips {
		for _, turn := range []struct {
			*asker
			seen *reservoir
		}{{&p.via, via}, {&p.direct, direct}} {
			if err := pause.Wait(clock.Now() + tripPause + rand.N(tripSpread)); err != nil {
				return err
			}
			d, err := turn.trip(ctx)
			if err != nil {
				return err
			}
			turn.seen.add(d)
		}
	}
	return nil
}
