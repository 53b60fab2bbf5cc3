package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call runs the command in this process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestBadInputIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args  string
		names string // what the error must name
	}{
		{"", "subcommand"},
		{"fly", "fly"},
		{"sweep now", "now"},
		{"sweep --slo p99", "p99=5ms"},
		{"sweep --slo p99=5", "unit"},
		{"sweep --slo p95=5ms", "p99.9"},
		{"sweep --slo p99=5ms,p99=5ms", "twice"},
		{"sweep --slo p99=2s", "--op-timeout"},
		{"sweep --slo total:p99=5ms --ledger none --paths setnx", "ledger"},
		{"sweep --vary rtt=1ms", "replica-rtt"},
		{"sweep --vary replica-rtt=0", "two values"},
		{"sweep --vary replica-rtt=0,fast", "fast"},
		{"sweep --vary replica-rtt=0,1ms --paths setnx", "depends"},
		{"sweep --vary replica-rtt=0,1ms --replica-rtt 1ms", "given and varied"},
		{"sweep --vary zipf=0,1", "--keys"},
		{"sweep --vary tx-rows=0,10 --ledger none --paths setnx", "ledger"},
		{"sweep --vary wait-replicas=1,40", "wait-replicas"},
		{"sweep --from 0", "--from"},
		{"sweep --to 10", "--to"},
		{"sweep --from 200 --least 300", "--least"},
		{"sweep --step 1ms", "--step"},
		{"sweep --repeat 0", "--repeat"},
		{"sweep --paths ping", "floors"},
		{"sweep --down primary", "failover"},
		{"sweep --down replica-9", "replica-9"},
		{"sweep --env external --redis localhost:1 --paths setnx --down replica-1", "--down"},
		{"sweep --env external --redis localhost:1 --paths setnx --vary client-rtt=0,1ms", "client-rtt"},
		{"plan --rate 1000 --slo p99=5ms", "--run"},
		{"plan --rate -1 --slo p99=5ms --run x", "--rate"},
		{"plan --rate 1000 --slo p99=5 --run x", "unit"},
		{"plan --rate 1000 --slo p99=5ms --run absent", "absent"},
		{"run --zipf 1", "--keys"},
		{"run --zipf -1 --keys 10", "--zipf"},
		{"run --tx-rows 5000", "--tx-rows"},
		{"run --tx-rows 5 --ledger none --paths setnx", "ledger"},
		{"failover now", "now"},
		{"failover --scenario crash", "crash-steady"},
		{"failover --scenario partition:total", "min-replicas"},
		{"failover --scenario crash-steady,crash-steady", "twice"},
		{"failover --scenario leader-killed", "etcd, zookeeper"},
		{"failover --scenario crash-steady --paths setnx,optimistic", "optimistic"},
		{"failover --scenario manual --windows=false --replica-rtt 1ms", "--replica-rtt"},
		{"failover --scenario manual --down-after 1s,2s", "--down-after"},
		{"failover --paths etcd --down-after 1s", "--down-after"},
		{"failover --paths etcd --sentinels 5", "--sentinels"},
		{"failover --paths etcd --windows", "--windows"},
		{"failover --paths etcd --ttl 50s", "--ttl"},
		{"failover --paths setnx --wait-timeout 50ms", "--wait-timeout"},
		{"failover --scenario manual --side-by-side 2", "--side-by-side"},
		{"failover --scenario paused-holder --windows=false --rate 500", "--rate"},
		{"failover --scenario paused-holder --hold 5s", "--hold"},
		{"failover --scenario holder-cut-off --ttl 20s", "--ttl"},
		{"failover --paths setny", "setny"},
		{"failover --paths setnx,setnx", "twice"},
		{"failover --paths ping", "ping"},
		{"failover --trials 0", "--trials"},
		{"failover --rate 1", "--rate"},
		{"failover --down-after 1", "--down-after"},
		{"failover --down-after 1ms", "--down-after"},
		{"failover --down-after 1s,1s", "twice"},
		{"failover --replica-rtt far", "far"},
		{"failover --hold 1s", "--hold"},
		{"failover --ttl 1s", "--ttl"},
		{"failover --wait-timeout 500us", "--wait-timeout"},
		{"failover --sentinels 0", "--sentinels"},
		{"failover --side-by-side 1000", "--side-by-side"},
		{"failover --env external", "process"},
		{"failover --env container --docker-network bridge", "bridge"},
		{"failover --redis-image x", "container"},
		{"failover --format yaml", "yaml"},
		{"run --paths setnx,setny", "setny"},
		{"run --paths setnx:shape=round", "shape"},
		{"run --paths setnx:form=round", "round"},
		{"run --paths setnx:form", "form"},
		{"run --paths setnx,setnx", "twice"},
		{"run --paths setnx:pool=0", "pool"},
		{"run --rate 0", "rate"},
		{"run --rate -5", "rate"},
		{"run --rate NaN", "rate"},
		{"run --rate fast", "fast"},
		{"run --rates 5", "rates"},
		{"run --duration 0s", "duration"},
		{"run --duration 5", "duration"},
		{"run --duration 1ns", "--duration"},
		{"run --warmup -1s", "--warmup"},
		{"run --runs 0", "runs"},
		{"run --repeat-invalid -1", "repeat-invalid"},
		{"run --workers -1", "workers"},
		{"run --arrivals bursty", "bursty"},
		{"run --wait-timeout 500us", "wait-timeout"},
		{"run --wait-timeout 1500us", "wait-timeout"},
		{"run --wait-replicas 0", "wait-replicas"},
		{"run --wait-replicas 1000", "wait-replicas"},
		{"run --replicas 1000000", "replicas"},
		{"run --replicas -1", "replicas"},
		{"run --replicas 0 --paths setnx-wait", "--replicas"},
		{"run --replicas 1 --wait-replicas 2", "--replicas"},
		{"run --sentinels 1000000", "sentinels"},
		{"run --op-timeout 0s", "--op-timeout"},
		{"run --op-timeout 50ms", "--wait-timeout"},
		{"run --ttl 10us", "ttl"},
		{"run --hold -1s", "hold"},
		{"run --keys -1", "keys"},
		{"run --acquire-timeout 2s", "acquire-timeout"},
		{"run --format yaml", "yaml"},
		{"run --env cloud", "cloud"},
		{"run --redis-image valkey/valkey:8", "container"},
		{"run --etcd-image quay.io/coreos/etcd:v3.6.5", "container"},
		{"run --env external --redis h:1 --paths setnx --docker-network bridge", "container"},
		{"run --env container --docker-network overlay", "overlay"},
		{"run --env container --docker-network bridge --replica-rtt 1ms", "--docker-network"},
		{"run --env container --redis h:1", "external"},
		{"run --env container --replicas -1", "replicas"},
		{"doctor --env external", "external"},
		{"doctor --docker-network bridge", "container"},
		{"env up --env external", "external"},
		{"env up --ledger-image mariadb:11", "container"},
		{"env up --zookeeper-image zookeeper:3.9", "container"},
		{"env up --env container --docker-network bridge --replica-rtt 1ms", "--docker-network"},
		{"run --env external", "--redis"},
		{"run --env external --redis h:1 --replicas 2", "replicas"},
		{"run --redis h:1", "external"},
		{"run --ledger u@tcp(h:1)/d", "external"},
		{"run --ledger none", "fencing"},
		{"run --env external --redis h:1 --paths fencing", "fencing"},
		{"run --env external --redis h:1 --ledger u:secret@tcp(h:1)/d?clientFoundRows=true", "clientFoundRows"},
		{"run --env external --redis h:1 --ledger nonsense", "ledger"},
		{"run --via 10.0.0.5:6379=localhost:6379", "external"},
		{"run --tls-ca ca.pem", "external"},
		{"run --env external --redis h:1 --paths setnx --via 10.0.0.5:6379=localhost:6379", "Sentinels"},
		{"run --env external --sentinel h:1 --paths setnx --via 10.0.0.5:6379", "10.0.0.5:6379"},
		{"run --env external --sentinel h:1 --paths setnx --via 10.0.0.5:6379=localhost:0", "localhost:0"},
		{"run --env external --redis rediss://h:1 --paths setnx --tls-ca absent.pem", "absent.pem"},
		{"run --env external --redis rediss://h:1 --paths setnx --tls-cert absent.pem", "--tls-key"},
		{"run --env external --redis rediss://h:1 --paths setnx --tls-key absent.pem", "--tls-cert"},
		{"run --env external --redis rediss://h:1 --sentinel redis://h:2 --paths setnx", "TLS"},
		{"run more", "more"},
		{"plot", "folder"},
		{"plot nowhere", "nowhere"},
		{"plot a b", "2 arguments"},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, " ")
		}
		status, _, stderr := call(t, args...)
		first, _, _ := strings.Cut(stderr, "\n")
		if status != exitUsage {
			t.Errorf("%q: status %d, want %d: %s", c.args, status, exitUsage, stderr)
		}
		if !strings.Contains(first, c.names) || strings.Contains(stderr, "secret") {
			t.Errorf("%q: the error does not name %s, or names a password: %s", c.args, c.names, stderr)
		}
		if left, _ := os.ReadDir("."); len(left) > 0 {
			t.Fatalf("%q left %v behind", c.args, left)
		}
	}
}

func TestFolderWithARunInItIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := call(t, "run", "--out", dir); status != exitUsage || !strings.Contains(stderr, dir) {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestNoServerAtTheAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	status, _, stderr := call(t, "run", "--env", "external", "--redis", "127.0.0.1:1", "--paths", "setnx", "--quiet")
	if status != exitFailed || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if left, _ := filepath.Glob("results/*"); len(left) > 0 {
		t.Errorf("left %v behind, with nothing in it", left)
	}
}

func TestHelpHasExamplesAndNamesThePaths(t *testing.T) {
	for _, command := range []string{"run", "plot"} {
		status, stdout, _ := call(t, command, "--help")
		if status != exitDone || !strings.Contains(stdout, "Examples:") || !strings.Contains(stdout, "lockcost "+command) {
			t.Errorf("%s --help: status %d: %s", command, status, stdout)
		}
	}
	_, stdout, _ := call(t, "run", "--help")
	for _, path := range []string{"null", "ping", "setnx", "setnx-wait", "fencing", "idempotent", "round-trips"} {
		if !strings.Contains(stdout, path) {
			t.Errorf("run --help does not name %s", path)
		}
	}
}

func TestInterruptedBeforeAnythingWasMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"run", "--quiet"}, &out, &errs); status != exitInterrupted {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if left, _ := filepath.Glob("results/*"); len(left) > 0 {
		t.Errorf("left %v behind, with nothing in it", left)
	}
}
