package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"lockcost/bench"
)

// distanceFlags are the flags that put servers apart.
type distanceFlags struct {
	replica, client string
	jitter          time.Duration
}

func (f *distanceFlags) flags(set *pflag.FlagSet) {
	set.StringVar(&f.replica, "replica-rtt", "0", "round trips to add between primary and replicas, such as 0,1ms: each path that waits for replicas is run at each")
	set.StringVar(&f.client, "client-rtt", "0", "round trips to add between the client and Redis: each path that uses it is run at each; the ledger stays where it is")
	set.DurationVar(&f.jitter, "rtt-jitter", 0, "width of the range that each one-way delay is drawn from, about its middle")
}

// apply puts what was asked for into the plan.
func (f *distanceFlags) apply(p *bench.Plan) (err error) {
	if p.ReplicaRTTs, err = roundTrips("replica-rtt", f.replica); err != nil {
		return err
	}
	p.ClientRTTs, err = roundTrips("client-rtt", f.client)
	p.RTTJitter = f.jitter
	return err
}

func roundTrips(flag, list string) ([]time.Duration, error) {
	var all []time.Duration
	for text := range strings.SplitSeq(list, ",") {
		rtt, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--%s %q: %q is no duration such as 500µs or 1ms", flag, list, text)
		}
		all = append(all, rtt)
	}
	return all, nil
}
