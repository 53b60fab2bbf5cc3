package failover

import (
	"context"
	"fmt"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
)

// independent is Redis servers that know nothing of each other: a lock is
// there if a majority of them has it.
type independent struct{ *trial }

// independentSpec has nothing but what the path needs.
func independentSpec(*cell) env.Spec { return env.Spec{NoRedis: true} }

func beginIndependent(ctx context.Context, t *trial) (service, error) {
	s := independent{t}
	return s, s.healthy(ctx, patience)
}

// undisturbed is always so: nobody leads.
func (s independent) undisturbed(context.Context) error { return nil }

func (s independent) falseFailovers() int64 { return 0 }

// healthy checks that every server takes writes.
func (s independent) healthy(ctx context.Context, within time.Duration) error {
	for _, node := range s.members() {
		err := s.until(ctx, within, func() error {
			return s.node(node).Set(ctx, s.settings.Prefix+"healthy", 1, time.Second).Err()
		})
		if err != nil {
			return fmt.Errorf("%s does not take writes: %w", node, err)
		}
	}
	return nil
}

// lacking asks every server. One that does not answer has no lock.
func (s independent) lacking(ctx context.Context, orders []int64) ([]int64, error) {
	have := map[int64]int{}
	for _, node := range s.members() {
		lacking, err := s.lackingOn(ctx, s.addr(node), orders)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue
		}
		for _, order := range orders {
			have[order]++
		}
		for _, order := range lacking {
			have[order]--
		}
	}
	var lacking []int64
	for _, order := range orders {
		if have[order] < len(s.majority()) {
			lacking = append(lacking, order)
		}
	}
	return lacking, nil
}

// leftover is the locks that a majority has.
func (s independent) leftover(ctx context.Context) (map[int64]time.Duration, error) {
	have, stays := map[int64]int{}, map[int64]time.Duration{}
	for _, node := range s.members() {
		left, err := s.leftoverOn(ctx, s.addr(node))
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue
		}
		for order, stay := range left {
			have[order]++
			stays[order] = max(stays[order], stay)
		}
	}
	for order, n := range have {
		if n < len(s.majority()) {
			delete(stays, order)
		}
	}
	return stays, nil
}

func (s independent) steps(ops []history.Op, crash int64) {
	s.firstGrants(ops, crash, max(crash, s.firstWrite.Load()))
}

func (s independent) close() {}
