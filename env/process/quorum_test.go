package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process"
	"lockcost/env/process/processtest"
)

// instead has name found on the PATH as a shell script, which may run $REAL:
// the program that is otherwise found.
func instead(t *testing.T, name, real, script string) {
	t.Helper()
	bin := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\nREAL=%s\n%s\n", real, script)
	if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// programOf is the program of a node, as a stack that is whole runs it.
func programOf(t *testing.T, spec env.Spec, name string) string {
	t.Helper()
	s := processtest.Start(t, spec)
	defer s.Close()
	for _, n := range s.Nodes {
		if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", n.PID)); n.Name == name && err == nil {
			return path
		}
	}
	t.Skip("no /proc")
	return ""
}

// fails starts what cannot be ready, for a while, and checks that the error
// has all of want in it, and that nothing is left.
func fails(t *testing.T, spec env.Spec, want ...string) {
	t.Helper()
	dir := public(t)
	const long = 15 * time.Second // a JVM on a busy machine takes its time
	ctx, cancel := context.WithTimeoutCause(t.Context(), long, fmt.Errorf("not ready after %v", long))
	defer cancel()
	s, err := process.Provider{Dir: dir}.Start(ctx, spec)
	if err == nil {
		_ = s.Close()
		t.Fatal("started")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
	if left := workingIn(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
}

func TestEtcdWithoutQuorumIsNamed(t *testing.T) {
	spec := env.Spec{NoRedis: true, Etcd: 3}
	real := programOf(t, env.Spec{NoRedis: true, Etcd: 1}, "etcd-1")
	instead(t, "etcd", real, `case $2 in */etcd-1/*) exec $REAL "$@" ;; esac; echo sitting on my hands; exec sleep 60`)
	fails(t, spec, "etcd-2, etcd-3: 2 of 3", "do not listen", "not ready", "sitting on my hands")
}

func TestZooKeeperWithoutQuorumIsNamed(t *testing.T) {
	spec := env.Spec{NoRedis: true, ZooKeeper: 3}
	real := programOf(t, env.Spec{NoRedis: true, ZooKeeper: 1}, "zookeeper-1")
	instead(t, "java", real, `case "$*" in */zookeeper-3/*) exec $REAL "$@" ;; esac; exec sleep 60`)
	fails(t, spec, "zookeeper-1, zookeeper-2: 2 of 3", "do not listen", "not ready")
}

func TestServerOfAQuorumThatEndsIsNamed(t *testing.T) {
	real := programOf(t, env.Spec{NoRedis: true, Etcd: 1}, "etcd-1")
	instead(t, "etcd", real, `case $2 in */etcd-2/*) echo cannot open the moon >&2; exit 3 ;; esac; exec $REAL "$@"`)
	fails(t, env.Spec{NoRedis: true, Etcd: 3}, "etcd-2", "exit status 3", "cannot open the moon")
}

// A JVM without the libraries that it needs ends at once, and says which.
func TestZooKeeperThatCannotRunIsNamed(t *testing.T) {
	programOf(t, env.Spec{NoRedis: true, ZooKeeper: 1}, "zookeeper-1")
	instead(t, "java", "", `echo "Error: Could not find or load main class" >&2; exit 1`)
	fails(t, env.Spec{ZooKeeper: 3, Replicas: 1}, "zookeeper-", "(java) ended", "Could not find or load main class")
}

func TestStacksThatCannotBe(t *testing.T) {
	for _, spec := range []env.Spec{
		{Etcd: 2}, {Etcd: 9}, {Etcd: -1}, {ZooKeeper: 4}, {ZooKeeper: -3}, {Independents: 10}, {Independents: -1},
		{Durability: "some"}, {Etcd: 1, LeastSession: time.Millisecond}, {NoRedis: true, Network: true},
	} {
		dir := t.TempDir()
		s, err := process.Provider{Dir: dir}.Start(t.Context(), spec)
		if err == nil {
			_ = s.Close()
			t.Errorf("%+v: started", spec)
		}
		if err := empty(dir); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

func TestAnotherRedisServerIsRun(t *testing.T) {
	for _, v := range processtest.Versions()[1:] {
		t.Run(v.Name, func(t *testing.T) {
			p := process.Provider{RedisServer: v.Program(t)}
			s := processtest.StartWith(t, p, env.Spec{Replicas: 1, Sentinels: 1, Independents: 1, Durability: env.Strict})
			servers, err := env.Inspect(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range servers {
				if strings.TrimPrefix(n.Version, "Valkey ")[0] != '8' {
					t.Errorf("%s is %s %s", n.Name, n.Kind, n.Version)
				}
			}
			if err := env.AppendFsync(t.Context(), s, false); err != nil {
				t.Error(err)
			}
			if err := env.AppendFsync(t.Context(), s, true); err != nil {
				t.Error(err)
			}
		})
	}
}
