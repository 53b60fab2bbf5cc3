package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/container/containertest"
	"lockcost/env/external"
)

// inContainers are options for a stack in containers.
func (p place) inContainers(t *testing.T, network string) Options {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it has looked for engine and images by then
	_, err := containertest.Provider().Start(ctx, everything)
	containertest.Need(t, err)
	c := containertest.Provider()
	c.Network = network
	o := p.options(everything, true)
	o.Container = &c
	return o
}

func TestStackInContainers(t *testing.T) {
	p := newPlace(t)
	r, err := p.Up(t.Context(), p.inContainers(t, container.NetworkHost))
	if err != nil {
		t.Fatal(err)
	}
	status := r.Check(t.Context())
	if status.Down() != 0 || len(status.Checks) != 6 {
		t.Errorf("%d of %d servers do not answer: %+v", status.Down(), len(status.Checks), status.Checks)
	}
	for _, v := range r.Servers {
		if v.Container == "" {
			t.Errorf("%s is in no container", v.Name)
		}
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, r.State)
}

// A supervisor that was killed leaves its containers; who comes next removes
// them.
func TestKilledSupervisorsContainersAreRemoved(t *testing.T) {
	p := newPlace(t)
	r, err := p.Up(t.Context(), p.inContainers(t, container.NetworkHost))
	if err != nil {
		t.Fatal(err)
	}
	mustKill(t, r.PID)
	var stale *StaleError
	if _, err := p.Find(t.Context()); !errors.As(err, &stale) {
		t.Errorf("found: %v", err)
	}
	p.nothingLeft(t, r.State)
}

// What is exported leads to a stack whose Sentinels announce addresses that
// are dialled otherwise.
func TestExportsOfABridge(t *testing.T) {
	p := newPlace(t)
	r, err := p.Up(t.Context(), p.inContainers(t, container.NetworkBridge))
	if err != nil {
		t.Fatal(err)
	}
	status := r.Check(t.Context())
	own := external.Provider{
		Sentinels: strings.Split(export(status, "LOCKCOST_SENTINEL"), ","), MasterName: export(status, "LOCKCOST_MASTER_NAME"),
		Ledger: export(status, "LOCKCOST_LEDGER"), Via: strings.Split(export(status, "LOCKCOST_VIA"), ","),
	}
	if len(own.Via) == 0 {
		t.Error("nothing tells how to dial what the Sentinels announce")
	}
	if _, err := own.Start(t.Context(), env.Spec{Replicas: 1, Sentinels: 3, Ledger: true}); err != nil {
		t.Error(err)
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, r.State)
}
