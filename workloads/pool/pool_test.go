package pool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockcost/workloads/pool"
)

func TestWaitGoesIntoTheTrace(t *testing.T) {
	gate := pool.NewGate(1)
	var trace pool.Trace
	ctx := pool.WithTrace(t.Context(), &trace)
	if err := gate.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	if trace.Wait != 0 {
		t.Errorf("wait of %v for a free place", trace.Wait)
	}
	began := time.Now()
	time.AfterFunc(20*time.Millisecond, gate.Leave)
	if err := gate.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); trace.Wait <= 0 || trace.Wait > took {
		t.Errorf("traced a wait of %v in %v", trace.Wait, took)
	}
}

func TestEnterFailsWhenTheContextEnds(t *testing.T) {
	gate := pool.NewGate(1)
	if err := gate.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	var trace pool.Trace
	ctx, cancel := context.WithTimeout(pool.WithTrace(t.Context(), &trace), time.Millisecond)
	defer cancel()
	err := gate.Enter(ctx)
	if !errors.Is(err, pool.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if trace.Wait <= 0 {
		t.Error("a wait in vain was not traced")
	}
	gate.Leave()
	if err := gate.Enter(t.Context()); err != nil {
		t.Errorf("the place was not free again: %v", err)
	}
}

func TestNilGateAdmitsEverybody(t *testing.T) {
	var gate *pool.Gate
	if err := gate.Enter(t.Context()); err != nil {
		t.Error(err)
	}
	gate.Leave()
}
