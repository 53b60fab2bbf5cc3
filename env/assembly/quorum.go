package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// startQuorum starts servers that are of use only once a majority of them
// have found each other, and waits until each one serves.
func (b *builder) startQuorum(ctx context.Context, servers []*server, file func(*server) string) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, v := range servers {
		g.Go(func() error { return b.run(gctx, v, file(v)) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	// Each is waited for to the end: the first to give up may be one that
	// waits for another.
	waited := make([]error, len(servers))
	var running sync.WaitGroup
	for i, v := range servers {
		running.Go(func() { waited[i] = v.await(ctx, v.answers) })
	}
	running.Wait()
	return noQuorum(servers, waited)
}

// noQuorum is the error of servers of which some do not serve: of those that
// do not even listen, where there are any, since they are what the others
// wait for.
func noQuorum(servers []*server, waited []error) error {
	var first error
	var lacking []error
	var names []string
	for i, err := range waited {
		if ended := (*endedError)(nil); errors.As(err, &ended) {
			return ended
		}
		if first == nil {
			first = err
		}
		if silent := (*silentError)(nil); errors.As(err, &silent) {
			lacking, names = append(lacking, err), append(names, servers[i].name())
		}
	}
	if len(lacking) == 0 {
		return first
	}
	what := fmt.Sprintf("%d of %d servers do not listen", len(lacking), len(servers))
	if 2*len(lacking) > len(servers) {
		what += ", and a majority is needed"
	}
	return fmt.Errorf("%s: %s: %w", strings.Join(names, ", "), what, errors.Join(lacking...))
}

// silentError is of a server that does not listen.
type silentError struct{ error }

func (e *silentError) Unwrap() error { return e.error }

// portOf is the port of an address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
