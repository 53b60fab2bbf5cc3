package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/results"
)

// standing is what a member says of itself.
type standing struct {
	leads bool
	epoch uint64 // of the leader that it follows, or is; greater for each new one; 0 where it does not tell
}

// ensemble is a lock service whose members elect one that leads.
type ensemble struct {
	*trial
	// look asks one member. A member that follows nobody is an error.
	look func(ctx context.Context, addr string) (standing, error)
	// write writes something, through one member.
	write func(ctx context.Context, addr string) error
	// reader connects to one member, to look for locks there.
	reader func(addr string) (lockReader, error)

	reading lockReader // nil for none yet
	from    string     // the node that it reads from

	leader    string // the node that led when it was last looked for
	epoch     uint64
	elections int64 // those that were noticed before the fault
}

// lockReader tells which orders have a lock.
type lockReader interface {
	locks(ctx context.Context) (map[int64]bool, error)
	close()
}

// lookMost bounds how long a member may take to say how it stands.
const lookMost = time.Second

// begin waits until all is well, and keeps who leads.
func (s *ensemble) begin(ctx context.Context) error {
	if err := s.healthy(ctx, rejoinMost); err != nil {
		return err
	}
	wctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.write(wctx, s.addr(s.leader)); err != nil {
		return fmt.Errorf("writing to %s: %w", s.path.Service(), err)
	}
	return nil
}

// standings asks members at once.
func (s *ensemble) standings(ctx context.Context, nodes []string) (map[string]standing, error) {
	ctx, cancel := context.WithTimeout(ctx, lookMost)
	defer cancel()
	type said struct {
		node string
		standing
		err error
	}
	all := make(chan said, len(nodes))
	for _, node := range nodes {
		go func() {
			st, err := s.look(ctx, s.addr(node))
			all <- said{node, st, err}
		}()
	}
	found := map[string]standing{}
	var errs []error
	for range nodes {
		v := <-all
		if v.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.node, v.err))
			continue
		}
		found[v.node] = v.standing
	}
	return found, errors.Join(errs...)
}

// healthy checks that every member follows the same leader, and keeps which.
func (s *ensemble) healthy(ctx context.Context, within time.Duration) error {
	return s.until(ctx, within, func() error {
		all, err := s.standings(ctx, s.members())
		if err != nil {
			return err
		}
		leader, epoch := leading(all)
		if leader == "" {
			return errNoLeader
		}
		for node, st := range all {
			if st.leads != (node == leader) || st.epoch != 0 && st.epoch != epoch {
				return fmt.Errorf("%s does not follow %s yet", node, leader)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leader, s.epoch = leader, epoch
		return nil
	})
}

var errNoLeader = errors.New("no member leads")

// leading is which of them leads, by the newest word; "" for none.
func leading(all map[string]standing) (leader string, epoch uint64) {
	for node, st := range all {
		if st.leads && st.epoch >= epoch {
			leader, epoch = node, st.epoch
		}
	}
	return leader, epoch
}

func (s *ensemble) undisturbed(ctx context.Context) error {
	all, err := s.standings(ctx, s.members())
	if err != nil {
		return void("not every member was well: %v", err)
	}
	if leader, epoch := leading(all); leader != s.leader || epoch != s.epoch {
		s.elections++
		return void("another leader was elected, although no server had failed: %s in place of %s", leader, s.leader)
	}
	return nil
}

func (s *ensemble) falseFailovers() int64 { return s.elections }

// elected waits until one of the others leads, and writes are accepted again,
// and keeps when that was. Its error voids the trial.
func (s *ensemble) elected(ctx context.Context, within time.Duration) error {
	old, epoch := s.leader, s.epoch
	others := slices.DeleteFunc(s.members(), func(node string) bool { return node == old })
	over := time.Now().Add(within)
	err := s.until(ctx, within, func() error {
		all, err := s.standings(ctx, others)
		leader, now := leading(all)
		if leader != "" && now > epoch {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.leader, s.epoch = leader, now
			return nil
		}
		return errors.Join(errNoLeader, err)
	})
	if err != nil {
		return void("nobody was elected in place of %s: %v", old, err)
	}
	s.moment(results.Promoted, int64(s.sinceFault()))
	err = s.until(ctx, max(time.Until(over), patience), func() error {
		wctx, cancel := context.WithTimeout(ctx, lookMost)
		defer cancel()
		return s.write(wctx, s.addr(s.leader))
	})
	if err != nil {
		return void("%s took no writes, although %s leads: %v", s.path.Service(), s.leader, err)
	}
	s.back()
	return nil
}

// locks asks the leader which orders have a lock: another may be silent.
func (s *ensemble) locks(ctx context.Context) (map[int64]bool, error) {
	if s.from != s.leader {
		s.close()
		r, err := s.reader(s.addr(s.leader))
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", s.leader, err)
		}
		s.reading, s.from = r, s.leader
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	there, err := s.reading.locks(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for locks on %s: %w", s.leader, err)
	}
	return there, nil
}

func (s *ensemble) lacking(ctx context.Context, orders []int64) ([]int64, error) {
	there, err := s.locks(ctx)
	if err != nil {
		return nil, err
	}
	var lacking []int64
	for _, order := range orders {
		if !there[order] {
			lacking = append(lacking, order)
		}
	}
	return lacking, nil
}

// leftover is the locks that are there. They stay until the session of whoever
// left them ends, and then for its length.
func (s *ensemble) leftover(ctx context.Context) (map[int64]time.Duration, error) {
	there, err := s.locks(ctx)
	if err != nil {
		return nil, err
	}
	left := map[int64]time.Duration{}
	for order, held := range there {
		if held {
			left[order] = s.ttl()
		}
	}
	return left, nil
}

func (s *ensemble) steps(ops []history.Op, crash int64) {
	if at := s.firstWrite.Load(); at > crash {
		s.moment(results.FirstWrite, at-crash)
	}
	s.firstGrants(ops, crash, max(crash, s.firstWrite.Load()))
}

func (s *ensemble) close() {
	if s.reading != nil {
		s.reading.close()
	}
	s.reading, s.from = nil, ""
}
