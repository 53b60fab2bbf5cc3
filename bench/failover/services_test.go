package failover

import (
	"testing"
	"time"

	"lockcost/env/process"
	"lockcost/env/process/processtest"
	"lockcost/results"
)

// needServer skips a test where a lock service's servers cannot be started.
func needServer(t *testing.T, path string) {
	t.Helper()
	spec := find(t, path).Needs(DefaultPlan().settings())
	spec.Ledger = false
	stack, err := process.Provider{}.Start(t.Context(), spec)
	processtest.Need(t, err)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Close(); err != nil {
		t.Error(err)
	}
}

// some and none are what is expected of an event.
const some, none = true, false

// expected is what must come of a scenario for a path.
type expected struct {
	scenario, path string
	events         map[results.Event]bool
}

// tryAll runs each scenario, and checks what came of it.
func tryAll(t *testing.T, cases []expected, also map[wanted]func(*testing.T, *outcome)) {
	t.Helper()
	var all []wanted
	for _, c := range cases {
		all = append(all, wanted{c.scenario, c.path})
	}
	outcomes := try(t, all...)
	for _, c := range cases {
		w := wanted{c.scenario, c.path}
		t.Run(c.scenario+" "+c.path, func(t *testing.T) {
			o := outcomes[w]
			o.expect(t, c.events)
			if check := also[w]; check != nil {
				check(t, o)
			}
		})
	}
}

// expect checks which events happened, and that something was granted.
func (o *outcome) expect(t *testing.T, events map[results.Event]bool) {
	t.Helper()
	t.Logf("granted %d, held %d, errors %v, events %v, times %v, facts %v, reason %q",
		o.trial.Granted, o.trial.Held, o.trial.Errors, o.trial.Events, o.trial.Times, o.trial.Facts, o.trial.Reason)
	for event, expected := range events {
		n, counted := o.trial.Events[event]
		if !counted || (n > 0) != expected {
			t.Errorf("%s: %d, counted %v; want some: %v (granted %d, errors %v, %v, %v)",
				event, n, counted, expected, o.trial.Granted, o.trial.Errors, o.trial.Times, o.trial.Facts)
		}
	}
	if o.trial.Granted == 0 || len(o.ops.Ops) == 0 {
		t.Errorf("%d grants in %d operations", o.trial.Granted, len(o.ops.Ops))
	}
}

// nothingWithoutMajority checks that nothing was granted while no majority was
// there, that something was before and after, and that clients were refused
// within their patience.
func nothingWithoutMajority(t *testing.T, o *outcome) {
	if n, counted := o.trial.Facts["grants_without_majority"]; !counted || n > 0 {
		t.Errorf("%d locks were granted without a majority, counted: %v", n, counted)
	}
	if len(o.trial.Errors) == 0 {
		t.Error("nobody was refused")
	}
	for kind := range o.trial.Errors {
		if kind == "other" || kind == "" {
			t.Errorf("a refusal has no name: %v", o.trial.Errors)
		}
	}
	if _, again := o.trial.Facts["granted_again_after_ns"]; !again {
		t.Error("nothing was granted with a majority back")
	}
	longest := time.Duration(o.trial.Facts["longest_refusal_ns"])
	if most := DefaultPlan().OpTimeout + 2*time.Second; longest > most {
		t.Errorf("a refusal took %v, and clients have a patience of %v", longest, DefaultPlan().OpTimeout)
	}
}

// allToldAndGaveUp checks that every holder which had lost its lock was told,
// and did not write.
func allToldAndGaveUp(t *testing.T, o *outcome) {
	told, untold, gaveUp := o.trial.Facts["holders_told"], o.trial.Facts["holders_not_told"], o.trial.Facts["jobs_given_up"]
	if told == 0 || untold > 0 || gaveUp < told {
		t.Errorf("%d holders were told that their lock was lost, %d were not, %d gave their job up", told, untold, gaveUp)
	}
}

// nobodyTold checks that no holder learned of its lock's loss before it
// released it.
func nobodyTold(t *testing.T, o *outcome) {
	if told, untold := o.trial.Facts["holders_told"], o.trial.Facts["holders_not_told"]; told > 0 || untold == 0 {
		t.Errorf("%d holders were told that their lock was lost, %d were not", told, untold)
	}
}

// leaderIsFollowed checks that the steps of an election are known.
func leaderIsFollowed(t *testing.T, o *outcome) {
	for _, m := range []results.Moment{results.Promoted, results.FirstWrite, results.FirstGrant} {
		if o.trial.Times[m] == 0 {
			t.Errorf("nothing is known of when it came to this: %s", m)
		}
	}
}
