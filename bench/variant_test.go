package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/results"
	"lockcost/workloads"
)

const far = 20 * time.Millisecond

func distantPlan(t *testing.T) Plan {
	plan := faultPlan(mustFind(t, "setnx-wait"))
	plan.Rate, plan.Duration = 200, 2*time.Second
	plan.ReplicaRTTs, plan.ClientRTTs = []time.Duration{0, far}, []time.Duration{0, far}
	return plan
}

func TestPathsRunAtTheDistancesTheyDependOn(t *testing.T) {
	plan := distantPlan(t)
	plan.Paths = []workloads.Path{mustFind(t, "setnx"), mustFind(t, "setnx-wait")}
	var labels []string
	for _, v := range plan.variants() {
		labels = append(labels, v.Label())
	}
	want := "null ping ping@client=20ms setnx setnx@client=20ms setnx-wait setnx-wait@20ms setnx-wait@client=20ms setnx-wait@20ms,client=20ms"
	if got := strings.Join(labels, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// An acquire that waits for a replica takes the replica's round trip more,
// and one that waits for both takes both.
func TestDistanceIsInTheAcquireAndIsRecorded(t *testing.T) {
	plan := distantPlan(t)
	stack := processtest.Start(t, plan.Spec())
	p50 := map[results.Distance]time.Duration{}
	for _, v := range plan.variants() {
		if v.Path.Floor {
			continue
		}
		run := driveAt(t, stack, plan, v, during, func() {})
		if run.Granted < run.Offered*9/10 {
			t.Errorf("%s: %d of %d granted: %v", v.Label(), run.Granted, run.Offered, run.Reasons)
		}
		p50[v.Distance] = time.Duration(*run.Spans[results.SpanAcquire].P50NS)
		for whose, of := range map[string]struct {
			trip  *results.Trip
			asked int64
		}{"replica": {run.ReplicaTrip, v.Distance.ReplicaNS}, "client": {run.ClientTrip, v.Distance.ClientNS}} {
			if (of.trip != nil) != (of.asked > 0) {
				t.Fatalf("%s: the %s's trip is %+v", v.Label(), whose, of.trip)
			}
			if of.trip != nil && (of.trip.AskedNS != of.asked || of.trip.P50NS < of.asked/2 || of.trip.Probes == 0) {
				t.Errorf("%s: the %s's trip is %+v", v.Label(), whose, of.trip)
			}
		}
	}
	near, both := p50[results.Distance{}], p50[results.Distance{ReplicaNS: int64(far), ClientNS: int64(far)}]
	for d, took := range p50 {
		one := d != (results.Distance{}) && took != both
		if one && (took < far || took > both) {
			t.Errorf("at %v: %v", d, took)
		}
	}
	if near > far || both < 2*far {
		t.Errorf("near %v, with both at a distance of %v each: %v", near, far, both)
	}
}

func TestRunThatWentAroundItsLinkIsInvalid(t *testing.T) {
	plan := distantPlan(t)
	stack := processtest.Start(t, plan.Spec())
	v := Variant{Path: plan.Paths[0], Distance: results.Distance{ReplicaNS: int64(far)}}
	run := driveAt(t, stack, plan, v, during, func() {
		replica := redis.NewClient(stack.Redis.Options(stack.Redis.Replicas[0]))
		defer replica.Close()
		host, port, _ := strings.Cut(stack.Redis.Primary, ":")
		if err := replica.Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
			t.Error(err)
		}
	})
	if run.Verdict != results.Invalid || !strings.Contains(run.LinkFault, "replica-1") {
		t.Errorf("verdict %s, reasons %v, fault %q", run.Verdict, run.Reasons, run.LinkFault)
	}
}

func TestDistanceIsRefusedWhereThereIsNoLink(t *testing.T) {
	stack := processtest.Start(t, env.Spec{})
	plan := faultPlan(mustFind(t, "setnx"))
	site, err := newSite(t.Context(), plan, stack)
	if err != nil {
		t.Fatal(err)
	}
	v := Variant{Path: plan.Paths[0], Distance: results.Distance{ClientNS: int64(far)}}
	if err := site.check(t.Context(), v); err == nil || !strings.Contains(err.Error(), "--client-rtt") {
		t.Errorf("got %v", err)
	}
}

func TestBadDistancesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"--replica-rtt -1ms: must not be negative":    func(p *Plan) { p.ReplicaRTTs = []time.Duration{-time.Millisecond} },
		"--client-rtt: 1ms is named twice":            func(p *Plan) { p.ClientRTTs = []time.Duration{time.Millisecond, time.Millisecond} },
		"--client-rtt 1s: must be below --op-timeout": func(p *Plan) { p.ClientRTTs = []time.Duration{time.Second} },
		"below --wait-timeout 100ms":                  func(p *Plan) { p.ReplicaRTTs = []time.Duration{100 * time.Millisecond} },
		"--rtt-jitter -1ns":                           func(p *Plan) { p.RTTJitter = -1 },
	} {
		plan := DefaultPlan()
		plan.Paths = []workloads.Path{mustFind(t, "setnx-wait")}
		change(&plan)
		if err := plan.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
