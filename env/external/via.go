package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// via reads Provider.Via.
func (p Provider) via() (map[string]string, error) {
	if len(p.Via) == 0 {
		return nil, nil
	}
	if len(p.Sentinels) == 0 {
		return nil, errors.New("it is about the addresses that Sentinels announce, and none is given")
	}
	via := make(map[string]string, len(p.Via))
	for _, pair := range p.Via {
		announced, dial, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%q: want the address that a Sentinel announces and the one to dial, host:port=host:port", pair)
		}
		for _, addr := range []string{announced, dial} {
			if err := whole(addr); err != nil {
				return nil, fmt.Errorf("%q: %w", pair, err)
			}
		}
		if _, twice := via[announced]; twice {
			return nil, fmt.Errorf("%q: %s is there twice", pair, announced)
		}
		via[announced] = dial
	}
	return via, nil
}

// whole tells whether addr has both a host and a port.
func whole(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return fmt.Errorf("%q is no host:port", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q has no port from 1 to 65535", addr)
	}
	return nil
}

// dialled is where the server is reached that announces addr.
func dialled(r env.Redis, addr string) string {
	if other, ok := r.Via[addr]; ok {
		return other
	}
	return addr
}

// checkAnnounced checks that the primary is reached at the address that a
// Sentinel announces for it: the lock client asks Sentinels, and goes there.
func checkAnnounced(ctx context.Context, r env.Redis, sentinel, announced string, primary identity) error {
	dial := dialled(r, announced)
	if dial == primary.addr {
		return nil
	}
	what := fmt.Sprintf("Redis at %s", dial)
	if err := reach(ctx, what, r.Options(dial)); err != nil {
		return announcedAs(err, r, sentinel, announced)
	}
	c := redis.NewClient(r.Options(dial))
	defer c.Close()
	text, err := c.Info(ctx).Result()
	if err != nil {
		return announcedAs(explain(what, err, r.TLS), r, sentinel, announced)
	}
	if id := env.ParseInfo(text)["run_id"]; id != primary.runID {
		return announcedAs(fmt.Errorf("%s is another server than the primary at %s", what, primary.addr), r, sentinel, announced)
	}
	return nil
}

// announcedAs adds to an error of the announced primary how it came to be
// looked for there.
func announcedAs(err error, r env.Redis, sentinel, announced string) error {
	if other, ok := r.Via[announced]; ok {
		return fmt.Errorf("%w; Sentinel at %s announces it as %s, which --via replaces by %s", err, sentinel, announced, other)
	}
	return fmt.Errorf("%w; Sentinel at %s announces it there: if from here it has another address, add --via %s=HOST:PORT",
		err, sentinel, announced)
}
