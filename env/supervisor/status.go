package supervisor

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"lockcost/env"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// checkTimeout bounds the check of one server.
const checkTimeout = 3 * time.Second

// Status is a stack as it was found to be.
type Status struct {
	State
	Checks []Check // one a server, in their order
}

// Check is what became of asking one server.
type Check struct {
	Server
	Role string // primary or replica, as a replicated Redis says itself; else ""
	Err  error  // why it does not answer; nil where it does
}

// Check asks every server of the stack, all at once, for at most 3 s.
func (s State) Check(ctx context.Context) Status {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimeout, fmt.Errorf("no answer within %v", checkTimeout))
	defer cancel()
	found := Status{State: s, Checks: make([]Check, len(s.Servers))}
	var wg sync.WaitGroup
	for i, v := range s.Servers {
		wg.Go(func() {
			c := Check{Server: v}
			c.Role, c.Err = s.ask(ctx, v)
			if c.Err != nil && ctx.Err() != nil {
				c.Err = context.Cause(ctx)
			}
			found.Checks[i] = c
		})
	}
	wg.Wait()
	s.depose(ctx, found.Checks)
	return found
}

// depose marks those of several primaries that the Sentinels do not hold to be
// one: a server that comes back after a failover is a primary still, until
// they have told it otherwise.
func (s State) depose(ctx context.Context, checks []Check) {
	var primaries []*Check
	for i := range checks {
		if checks[i].Role == "primary" {
			primaries = append(primaries, &checks[i])
		}
	}
	if len(primaries) < 2 {
		return
	}
	now := s.announced(ctx)
	for _, c := range primaries {
		if now != "" && c.Address != now {
			c.Role, c.Err = "", fmt.Errorf("it is a primary still, and for the Sentinels %s is: wait until they have told it", now)
		}
	}
}

// announced is the primary that the first Sentinel to answer tells; "" where
// none does.
func (s State) announced(ctx context.Context) string {
	for _, v := range s.Servers {
		if v.Kind != env.KindSentinel {
			continue
		}
		c := redis.NewSentinelClient(env.Redis{}.SentinelOptions(v.Address))
		at, err := c.GetMasterAddrByName(ctx, s.MasterName).Result()
		_ = c.Close()
		if err == nil && len(at) == 2 {
			addr := net.JoinHostPort(at[0], at[1])
			if way, ok := s.Via[addr]; ok {
				return way
			}
			return addr
		}
	}
	return ""
}

// ask asks one server.
func (s State) ask(ctx context.Context, v Server) (role string, err error) {
	// The clients would say so too, but log each refusal.
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.Address)
	if err != nil {
		return "", err
	}
	_ = c.Close()
	switch v.Kind {
	case env.KindLedger:
		return "", pingLedger(ctx, s.Ledger)
	case env.KindEtcd:
		return "", env.Etcd{}.Serves(ctx, v.Address)
	case env.KindZooKeeper:
		_, err := env.ZooKeeper{}.Mode(ctx, v.Address)
		return "", err
	}
	role, err = askRedis(ctx, v)
	if v.independent() {
		role = ""
	}
	return role, err
}

// askRedis asks a Redis or a Sentinel what it is, and whether it is the
// process that was started and not a stranger on its port.
func askRedis(ctx context.Context, v Server) (role string, err error) {
	c := redis.NewClient(env.Redis{}.Options(v.Address))
	defer c.Close()
	text, err := c.Info(ctx).Result()
	if err != nil {
		return "", err
	}
	info := env.ParseInfo(text)
	// In a container its number is another one.
	if pid := info["process_id"]; v.PID != 0 && v.Container == "" && pid != strconv.Itoa(v.PID) {
		return "", fmt.Errorf("process %s answers there, not %d", pid, v.PID)
	}
	switch info["role"] {
	case "master":
		return "primary", nil
	case "slave":
		if link := info["master_link_status"]; link != "up" {
			return "replica", fmt.Errorf("it answers, but its link to the primary is %s", link)
		}
		return "replica", nil
	}
	return "", nil
}

func pingLedger(ctx context.Context, dsn string) error {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return errors.New("its data source name cannot be read") // the cause may quote it
	}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = checkTimeout, checkTimeout, checkTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return errors.New("its data source name cannot be used")
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
}

// Down counts the servers that do not answer.
func (s Status) Down() (n int) {
	for _, c := range s.Checks {
		if c.Err != nil {
			n++
		}
	}
	return n
}

// Exports are the environment variables by which go test -bench finds the
// stack. After a failover they name the Redis that is the primary now.
func (s Status) Exports() []Export {
	var first, primary string
	var others []string
	for _, c := range s.Checks {
		if c.Kind != env.KindRedis || c.independent() {
			continue
		}
		if first == "" {
			first = c.Address
		}
		if c.Role == "primary" && primary == "" {
			primary = c.Address
		}
	}
	if primary == "" {
		primary = first
	}
	for _, c := range s.Checks {
		if c.Kind == env.KindRedis && !c.independent() && c.Address != primary {
			others = append(others, c.Address)
		}
	}
	return s.exports(primary, others)
}

// WriteText writes the status as a shell can eval it: what it does not need
// is comment.
func (s Status) WriteText(w io.Writer) error {
	if !s.Ready {
		_, err := fmt.Fprintf(w, "# a stack is being started by process %d\n", s.PID)
		return err
	}
	text := fmt.Sprintf("# %d servers, since %s UTC, under process %d\n", len(s.Servers), s.Since.Format(time.DateTime), s.PID)
	if s.ReplicaRTT != 0 {
		text += fmt.Sprintf("# replicas at a round trip of %v from the primary\n", s.ReplicaRTT)
	}
	for _, c := range s.Checks {
		text += fmt.Sprintf("# %-13s  %-15s  %s\n", c.Name, c.Address, c.text())
	}
	for _, e := range s.Exports() {
		text += e.shell() + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// text tells how a server is, and its role where its name tells another.
func (c Check) text() string {
	switch {
	case c.Err != nil:
		return "NOT WELL: " + c.Err.Error()
	case c.Role != "" && (c.Role == "primary") != (c.Name == "primary"):
		return "answers, as " + c.Role
	}
	return "answers"
}

// MarshalJSON writes the status with one entry a server.
func (s Status) MarshalJSON() ([]byte, error) {
	type server struct {
		Server
		Answers bool   `json:"answers"`
		Role    string `json:"role,omitempty"`
		Problem string `json:"problem,omitempty"`
	}
	servers := []server{}
	for _, c := range s.Checks {
		v := server{Server: c.Server, Answers: c.Err == nil, Role: c.Role}
		if c.Err != nil {
			v.Problem = c.Err.Error()
		}
		servers = append(servers, v)
	}
	exports := map[string]string{}
	for _, e := range s.Exports() {
		if e.Value != "" {
			exports[e.Name] = e.Value
		}
	}
	return json.Marshal(struct {
		Running bool `json:"running"`
		State
		Servers []server          `json:"servers"`
		Exports map[string]string `json:"exports"`
	}{true, s.State, servers, exports})
}
