package lock_test

import (
	"strconv"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// BenchmarkAllocations shows what a lock and its release allocate, the
// client library's part included. It is no measure of time: it is a closed
// loop with one caller.
func BenchmarkAllocations(b *testing.B) {
	stack := processtest.Start(b, env.Spec{Replicas: 1})
	client, err := lock.Open(b.Context(), lock.Config{Primary: stack.Redis.Primary, PoolSize: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	if err := client.LoadScripts(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			locker, err := way.of(client)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				lease, err := locker.TryLock(b.Context(), prefix+strconv.Itoa(i), 30*time.Second)
				if err != nil {
					b.Fatal(err)
				}
				if err := lease.Unlock(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
