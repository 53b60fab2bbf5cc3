package main

import (
	"path/filepath"
	"strings"
	"testing"

	"lockcost/env/process/processtest"
	"lockcost/results"
)

// All paths, contending for two hot orders: each has done something, is in the
// table with where its lock is, and what the servers cannot run is said.
func TestRunOfAllPathsOnHotOrders(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "run")
	status, table, stderr := call(t, "run", "--paths", "all,fencing:token=zookeeper,etcd:guard=token", "--orders", "2",
		"--acquire-timeout", "500ms", "--rate", "20", "--runs", "1", "--duration", "1s", "--warmup", "0s",
		"--redlock-nodes", "3", "--out", dir, "--quiet")
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	record, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range record.Paths {
		seen[p.Path] = true
		if p.Kind == "" || !strings.Contains(table, p.Path) {
			t.Errorf("%s: kind %q, or not in the table", p.Label(), p.Kind)
		}
		if run := p.Runs[0]; run.Granted == 0 {
			t.Errorf("%s was granted nothing: %+v", p.Label(), run.Errors)
		}
		if lockless := p.Floor || p.Path == "optimistic"; lockless != (p.Durability == nil) {
			t.Errorf("%s: durability %+v", p.Label(), p.Durability)
		}
		if p.Durability != nil && p.SessionOpen == nil {
			t.Errorf("%s: what a session takes was not measured", p.Label())
		}
		for _, w := range p.Runs[0].Warnings {
			if strings.Contains(w, "charged more than once") {
				t.Errorf("%s: %s", p.Label(), w)
			}
		}
	}
	for _, path := range []string{"watchdog", "redlock", "etcd", "zookeeper", "optimistic", "combined"} {
		if !seen[path] {
			t.Errorf("%s was not run", path)
		}
	}
	if !seen["waitaof"] && (len(record.Plan.NotRun) != 1 || !strings.Contains(record.Plan.NotRun[0], "WAITAOF")) {
		t.Errorf("waitaof was not run, and the record says: %q", record.Plan.NotRun)
	}
}

// On a Redis that has WAITAOF its append-only file is switched on for the path
// that needs it, and for no other.
func TestRunOfWaitAOF(t *testing.T) {
	needServers(t)
	for _, v := range processtest.Versions() {
		if v == processtest.Installed {
			continue
		}
		dir := filepath.Join(t.TempDir(), "run")
		status, _, stderr := call(t, "run", "--paths", "setnx,waitaof", "--redis-server", v.Program(t), "--ledger", "none",
			"--rate", "100", "--runs", "1", "--duration", "1s", "--warmup", "0s", "--out", dir, "--quiet")
		if status != exitDone && status != exitDoubtful {
			t.Errorf("%s: status %d: %s", v.Name, status, stderr)
			continue
		}
		record, err := results.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range record.Paths {
			want := map[string]int{"setnx": 0, "waitaof": 2}
			if disks, ours := want[p.Path]; ours && (p.Runs[0].Granted == 0 || p.Durability.Disk != disks) {
				t.Errorf("%s: %s was granted %d times, on %d disks", v.Name, p.Path, p.Runs[0].Granted, p.Durability.Disk)
			}
		}
	}
}
