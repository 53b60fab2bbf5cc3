package history

import (
	"slices"
	"sync"
	"testing"
)

func TestRecorderKeepsEverythingOfAllWorkers(t *testing.T) {
	const workers, each = 8, 3*chunkOps + 17
	var recorder Recorder
	var running sync.WaitGroup
	for worker := range int64(workers) {
		running.Go(func() {
			for i := range int64(each) {
				// The later added, the earlier returned.
				recorder.Add(grant(worker*each+i, 0, each-i, 1, never))
				if i%1000 == 0 {
					recorder.Ops()
				}
			}
		})
	}
	running.Wait()
	ops := recorder.Ops()
	orders := make(map[int64]bool)
	for i := range ops {
		orders[ops[i].Order] = true
	}
	if len(ops) != workers*each || len(orders) != workers*each {
		t.Errorf("%d operations on %d orders, want %d", len(ops), len(orders), workers*each)
	}
	if !slices.IsSortedFunc(ops, func(a, b Op) int { return compareReturns(&a, &b) }) {
		t.Error("not in the order of their returns")
	}
}

func TestRecorderGivesACopy(t *testing.T) {
	var recorder Recorder
	if ops := recorder.Ops(); len(ops) != 0 {
		t.Fatalf("%d operations before any was added", len(ops))
	}
	recorder.Add(grant(1, 0, 20, 9, never))
	ops := recorder.Ops()
	ops[0].Order = 99
	recorder.Add(grant(2, 0, 10, 9, never))
	got := recorder.Ops()
	if len(ops) != 1 || len(got) != 2 || got[0].Order != 2 || got[1].Order != 1 {
		t.Errorf("orders %+v", got)
	}
}
