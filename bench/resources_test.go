package bench

import (
	"math"
	"testing"

	"lockcost/bench/load"
	"lockcost/env/process/processtest"
	"lockcost/env/usage"
	"lockcost/results"
)

// What a run used is stored with it, for each operation.
func TestARunHasWhatItUsed(t *testing.T) {
	plan := faultPlan(mustFind(t, "setnx-wait"))
	plan.Ledger = true
	stack := processtest.Start(t, plan.Spec())
	run := drive(t, stack, plan, before, func() {})
	at := func(server string, of func(results.Resources) *float64) float64 {
		t.Helper()
		v := of(run.Resources[server])
		if v == nil {
			t.Errorf("of %s it is not known: %v", server, run.Resources[server].Unknown)
			return math.NaN()
		}
		return *v
	}
	commands := func(r results.Resources) *float64 { return r.Commands }
	for server, want := range map[string][2]float64{
		"primary": {4, 8}, // SET, WAIT, and a script with two commands
		"ledger":  {4, 9}, // a read, and a transaction
	} {
		if v := at(server, commands); v < want[0] || v > want[1] {
			t.Errorf("%s: %v commands for each operation", server, v)
		}
	}
	if v := at("ledger", func(r results.Resources) *float64 { return r.Fsyncs }); v <= 0 || v > 10 {
		t.Errorf("the ledger synced %v times for each operation", v)
	}
	sent := at("primary", func(r results.Resources) *float64 { return r.ReplicationBytes })
	received := at("replica-1", func(r results.Resources) *float64 { return r.ReplicationBytes })
	if sent < 50 || math.Abs(sent-received) > 0.1*sent {
		t.Errorf("the primary sent %v bytes to the replica for each operation, and that received %v", sent, received)
	}
	for _, server := range []string{results.DriverResources, "primary", "replica-1", "ledger"} {
		if v := at(server, func(r results.Resources) *float64 { return r.CPUNS }); v <= 0 {
			t.Errorf("%s took %v ns for each operation", server, v)
		}
	}
	for _, pool := range []string{results.LockPool, results.LedgerPool} {
		c := run.Connections[pool]
		if c.Samples == 0 || c.Mean <= 0 || c.Mean > float64(c.Max) || c.Max > c.Pool {
			t.Errorf("connections of the %s pool: %+v", pool, c)
		}
	}
	// Little's law: a ledger's connection is in use for the effect.
	little := plan.Rate * float64(run.Spans[results.SpanEffect].MeanNS) / 1e9
	if mean := run.Connections[results.LedgerPool].Mean; mean < little/2 || mean > 1.5*little+0.2 {
		t.Errorf("%v connections to the ledger were in use, and by Little's law %v", mean, little)
	}
}

func TestAHeldLockTakesMemoryWhereItIs(t *testing.T) {
	plan := faultPlan(mustFind(t, "setnx"))
	plan.Ledger = false
	spec := plan.Spec()
	spec.Replicas = 1
	stack := processtest.Start(t, spec)
	site, err := newSite(t.Context(), plan, stack)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := site.heldBytes(t.Context(), Variant{Path: plan.Paths[0]})
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"primary", "replica-1"} {
		if bytes[server] < 60 || bytes[server] > 1000 {
			t.Errorf("a lock takes %v bytes of %s", bytes[server], server)
		}
	}
}

// Made-up readings: the driver's share is what the servers that it asks say,
// and what one of them does not tell is not known.
func TestTheDriversShareIsWhatServersSay(t *testing.T) {
	reading := func(in, out, commands float64) usage.Reading {
		return usage.Reading{Values: map[usage.Counter]float64{usage.BytesIn: in, usage.BytesOut: out, usage.Commands: commands}}
	}
	mute := reading(10, 0, 500)
	delete(mute.Values, usage.BytesOut)
	mute.Unknown = map[usage.Counter]string{usage.BytesOut: "it does not count"}
	recording := &load.Recording{Slots: 100, InWindow: 50, Instrument: results.Instrument{CPUNS: 5000}}
	all := toResources(usage.Usage{"primary": reading(1000, 500, 200), "replica-1": reading(7, 7, 7), "ledger": reading(300, 100, 400)}, recording)
	driver := all[results.DriverResources]
	if *driver.CPUNS != 100 || *driver.BytesOut != 13 || *driver.BytesIn != 6 || *driver.Commands != 6 {
		t.Errorf("%v ns, %v bytes out, %v in, %v commands", *driver.CPUNS, *driver.BytesOut, *driver.BytesIn, *driver.Commands)
	}
	driver = toResources(usage.Usage{"primary": reading(1000, 500, 200), "zookeeper-1": mute}, recording)[results.DriverResources]
	if driver.Unknown["bytes_in_per_op"] != "zookeeper-1: it does not count" || driver.BytesIn != nil || driver.BytesOut == nil {
		t.Errorf("%+v", driver)
	}
	if toResources(usage.Usage{}, &load.Recording{}) != nil {
		t.Error("a run without operations used something")
	}
}

func TestConnectionsInUseAreCountedByQuantile(t *testing.T) {
	now := 0
	p := newPoolUse(8, func() int { return now })
	for range 9990 {
		p.sample()
	}
	for now = 5; now < 8; now++ {
		for range 4 {
			p.sample()
		}
	}
	c, ok := p.result()
	if !ok || c.Max != 7 || c.P50 != 0 || c.P999 == nil || *c.P999 != 5 || c.Samples != 10002 {
		t.Errorf("%+v", c)
	}
	if _, ok := newPoolUse(0, nil).result(); ok {
		t.Error("a pool that there is not was in use")
	}
}
