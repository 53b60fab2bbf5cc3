package env

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// zooSettings are those of ZooKeeper that decide how long a session is and
// when a server is given up.
var zooSettings = []string{"tickTime", "initLimit", "syncLimit", "minSessionTimeout", "maxSessionTimeout"}

// fsync tells whether servers of ours were started to sync their logs: yes or
// no, and "" where they are not ours to know of.
func (s *Stack) fsync() string {
	switch {
	case !s.Ours:
		return ""
	case s.Durability == Relaxed:
		return "no"
	}
	return "yes"
}

// inspectEtcd describes a member of etcd, which tells its version and not how
// it was configured.
func inspectEtcd(ctx context.Context, s *Stack, n Node) (Server, error) {
	v := Server{Kind: "etcd", Settings: map[string]string{}}
	var told struct{ EtcdServer string }
	if err := s.Etcd.Ask(ctx, n.Addr, "/version", nil, &told); err != nil {
		return v, err
	}
	v.Version = told.EtcdServer
	v.set("fsync", s.fsync())
	if s.Etcd.Heartbeat > 0 {
		v.set("heartbeat-interval", milliseconds(s.Etcd.Heartbeat))
		v.set("election-timeout", milliseconds(s.Etcd.ElectionTimeout))
	}
	v.set("datadir_filesystem", n.filesystem(n.folderOf("/member/snap/db")))
	return v, nil
}

// inspectZooKeeper describes a server of ZooKeeper.
func inspectZooKeeper(ctx context.Context, s *Stack, n Node) (Server, error) {
	v := Server{Kind: "ZooKeeper", Settings: map[string]string{}}
	fields, err := s.ZooKeeper.srvr(ctx, n.Addr)
	if err != nil {
		return v, err
	}
	// 3.8.0-${mvngit.commit.id}, built on … in Debian, 3.9.3-c26634f…, built on … in Apache's own.
	v.Version, _, _ = strings.Cut(fields["Zookeeper version"], "-")
	if v.Version == "" {
		return v, errors.New("it tells no version: " + fields[""])
	}
	v.set("fsync", s.fsync())
	conf, err := s.ZooKeeper.Conf(ctx, n.Addr)
	if errors.Is(err, errNotListed) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	for _, name := range zooSettings {
		v.set(name, conf[name])
	}
	v.set("datadir_filesystem", n.filesystem(conf["dataLogDir"]))
	return v, nil
}

// set notes a setting that has a value.
func (v *Server) set(name, value string) {
	if value != "" {
		v.Settings[name] = value
	}
}

// milliseconds is a time as etcd's configuration has it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// folderOf is the folder of a file that the node's process has open and whose
// path ends like that; "" where there is none, or it cannot be known.
func (n Node) folderOf(ending string) string {
	if n.PID == 0 {
		return ""
	}
	open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(n.PID), "fd", "*"))
	for _, fd := range open {
		if path, err := os.Readlink(fd); err == nil && strings.HasSuffix(path, ending) {
			return filepath.Dir(path)
		}
	}
	return ""
}
