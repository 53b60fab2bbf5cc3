package external

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// watcherCommands are what the lock client, or we, ask a Sentinel besides
// SENTINEL MASTER.
func watcherCommands(master string) [][]any {
	return [][]any{
		{"sentinel", "get-master-addr-by-name", master},
		{"sentinel", "sentinels", master},
		{"info", "server"},
		{"ping"},
	}
}

// checkWatcher checks that a Sentinel's user may do what following the
// primary takes, and names all that it may not: the lock client would go on
// without, and learn of a failover late.
func checkWatcher(ctx context.Context, r env.Redis, addr string) error {
	c := redis.NewClient(r.SentinelOptions(addr))
	defer c.Close()
	what := "Sentinel at " + addr
	var errs []error
	for _, command := range watcherCommands(r.MasterName) {
		errs = append(errs, c.Do(ctx, command...).Err())
	}
	errs = append(errs, subscribe(ctx, c))
	var rights []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		right := missingRight(err)
		if right == "" {
			return explain(what, err, r.TLS)
		}
		rights = append(rights, right)
	}
	if rights == nil {
		return nil
	}
	return fmt.Errorf("%s does not allow the user that was given all that is needed: try ACL SETUSER <user> %s",
		what, strings.Join(rights, " "))
}

// subscribe asks for what the lock client is told of a failover by.
func subscribe(ctx context.Context, c *redis.Client) error {
	s := c.Subscribe(ctx, "+switch-master", "+replica-reconf-done")
	defer s.Close()
	_, err := s.ReceiveTimeout(ctx, answerTimeout)
	return err
}

var deniedCommand = regexp.MustCompile(`'([^']+)' command`)

// missingRight is the rule of an ACL that would permit what err says is not;
// "" where err is about something else.
func missingRight(err error) string {
	if !redis.IsPermissionError(err) {
		return ""
	}
	if m := deniedCommand.FindStringSubmatch(err.Error()); m != nil {
		return "+" + m[1]
	}
	if strings.Contains(err.Error(), "channel") {
		return "&+switch-master &+replica-reconf-done"
	}
	return "and what it says: " + firstLine(err.Error())
}
