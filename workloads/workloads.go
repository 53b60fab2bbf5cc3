// Package workloads is the catalogue of paths. A path is one way to do a
// protected job: a locker, and a guard of the ledger's. It is composed, not
// written: a new lock service is a file in workloads/lock and a line in the
// catalogue.
package workloads

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// Path is one way to do the protected job, with its options set.
type Path struct {
	Name    string
	Summary string // one line
	Kind    Kind   // how it is made safe
	Floor   bool   // measured beside the paths and compared with none
	options []option
	chosen  map[string]string

	service Service // of its locks; "" for none
	replica bool    // whether it needs acknowledging replicas
	synced  bool    // whether it needs Redis to sync its append-only file at each write
	tokens  bool    // whether it can mint tokens in Redis
	locker  func(parts) (lock.Locker, error)
	guard   func(*ledger.DB) ledger.Guard // nil: the plain one, which a path can do without
}

// Kind is how a path is made safe, if it is.
type Kind string

// The kinds.
const (
	KindFloor      Kind = "floor"      // no lock at all
	KindOneServer  Kind = "one-server" // one server's word is enough for a grant
	KindServers    Kind = "servers"    // several servers have the lock when it is granted
	KindDownstream Kind = "downstream" // the ledger refuses what a lost lock lets through
)

// option is a setting of a path's own, written name:option=value.
type option struct {
	name   string
	values []string // allowed, the default first; nil for a number from 1 up
	help   string
}

// Settings is what is common to the paths of a run.
type Settings struct {
	Prefix         string // of keys; see Tables for that of tables
	OpTimeout      time.Duration
	AcquireTimeout time.Duration // 0: one attempt
	WaitReplicas   int
	WaitTimeout    time.Duration
	TTL            time.Duration // of locks, and so of the sessions that hold them in etcd and ZooKeeper
	Workers        int           // operations in flight, to size the pools by
	Ledger         bool
	Tables         string // prefix of the ledger's tables
	TxRows         int    // rows that each charge's transaction inserts besides
	// RedlockNodes, EtcdNodes and ZooKeeperNodes are how many servers are
	// started; 0 for the defaults.
	RedlockNodes, EtcdNodes, ZooKeeperNodes int
}

// Find returns the path of that name, with options: "setnx",
// "setnx-wait:round-trips=2", "setnx:form=script:pool=4".
func Find(spec string) (Path, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(spec), ":")
	all := Catalogue()
	i := slices.IndexFunc(all, func(p Path) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, p := range all {
			names[i] = p.Name
		}
		return Path{}, fmt.Errorf("unknown path %q: the paths are %s", name, strings.Join(names, ", "))
	}
	p := all[i]
	if rest == "" {
		return p, nil
	}
	for setting := range strings.SplitSeq(rest, ":") {
		if err := p.set(setting); err != nil {
			return Path{}, err
		}
	}
	return p, nil
}

func (p *Path) set(setting string) error {
	name, value, given := strings.Cut(setting, "=")
	i := slices.IndexFunc(p.options, func(o option) bool { return o.name == name })
	switch {
	case i < 0 && len(p.options) == 0:
		return fmt.Errorf("path %s has no options, and so no %q", p.Name, name)
	case i < 0:
		return fmt.Errorf("path %s has no option %q: its options are %s", p.Name, name, p.OptionsHelp())
	case !given:
		return fmt.Errorf("path %s: option %q needs a value: %s", p.Name, name, p.options[i])
	}
	o := p.options[i]
	if o.values == nil {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPool {
			return fmt.Errorf("path %s: %s=%s: must be a number from 1 to %d", p.Name, name, value, maxPool)
		}
		value = strconv.Itoa(n) // one spelling
	} else if !slices.Contains(o.values, value) {
		return fmt.Errorf("path %s: %s=%s: must be one of %s", p.Name, name, value, strings.Join(o.values, ", "))
	}
	if _, twice := p.chosen[name]; twice {
		return fmt.Errorf("path %s: option %s is given twice", p.Name, name)
	}
	if p.chosen == nil {
		p.chosen = map[string]string{}
	}
	p.chosen[name] = value
	return nil
}

// String shows how the option is written.
func (o option) String() string {
	if o.values == nil {
		return o.name + "=N (" + o.help + ")"
	}
	return o.name + "=" + strings.Join(o.values, "|") + " (" + o.help + ")"
}

// OptionsHelp lists the path's options, "" where it has none.
func (p Path) OptionsHelp() string {
	texts := make([]string, len(p.options))
	for i, o := range p.options {
		texts[i] = o.String()
	}
	return strings.Join(texts, ", ")
}

// Options are those that were given, with their values; never nil.
func (p Path) Options() map[string]string {
	options := map[string]string{}
	maps.Copy(options, p.chosen)
	return options
}

// Label is how the path is written, its options in order of name.
func (p Path) Label() string {
	label := p.Name
	for _, o := range slices.SortedFunc(slices.Values(p.options), func(a, b option) int { return strings.Compare(a.name, b.name) }) {
		if value, given := p.chosen[o.name]; given {
			label += ":" + o.name + "=" + value
		}
	}
	return label
}

// value is an option's value, its default where it was not given.
func (p Path) value(name string) string {
	if v, given := p.chosen[name]; given {
		return v
	}
	for _, o := range p.options {
		if o.name == name && len(o.values) > 0 {
			return o.values[0]
		}
	}
	return ""
}

// Guarded tells whether the path is more than its lock, and so makes no
// sense without a ledger.
func (p Path) Guarded() bool { return p.guarding() != nil }

// guarding is the path's guard, which an option may choose; nil for the plain
// one.
func (p Path) guarding() func(*ledger.DB) ledger.Guard {
	if p.value("guard") == "token" {
		return (*ledger.DB).Token
	}
	return p.guard
}

// Remote tells whether the path talks to a lock service, and so depends on how
// far that is.
func (p Path) Remote() bool { return p.service != "" }

// Synced tells whether the path needs a Redis that syncs its append-only file
// before each reply.
func (p Path) Synced() bool { return p.synced }

// Replicated tells whether the path waits for replicas, and so depends on
// how far they are.
func (p Path) Replicated() bool { return p.replica }
