package container_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/container/containertest"
	"lockcost/env/link"
	"lockcost/env/reexec"

	"github.com/moby/moby/client"
)

// as makes this test binary something else than tests.
const (
	as = "CONTAINER_TEST_AS"
	// driver starts a stack, prints its nodes and waits to be killed.
	driver = "driver"
	// nobody starts a stack without any rights, and prints the error.
	nobody = "nobody"
)

func TestMain(m *testing.M) {
	reexec.Main(link.Part())
	switch os.Getenv(as) {
	case driver:
		if err := drive(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	case nobody:
		err := syscall.Setuid(65534)
		if err == nil {
			_, err = container.Provider{}.Start(context.Background(), env.Spec{})
		}
		fmt.Println(err)
	default:
		os.Exit(m.Run())
	}
}

func drive() error {
	s, err := containertest.Provider().Start(context.Background(), small)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s.Nodes)
}

// small is a stack with all kinds of servers.
var small = env.Spec{Replicas: 1, Sentinels: 1, Ledger: true, Etcd: 1, ZooKeeper: 1}

// docker returns a client of the engine, or skips the test.
func docker(t *testing.T) *client.Client {
	t.Helper()
	cli, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	if _, err := cli.Ping(t.Context(), client.PingOptions{}); err != nil {
		containertest.Need(t, &container.UnavailableError{Reason: err.Error(), Err: err})
	}
	return cli
}

// alone gives the test, and the drivers it starts, lock files of their own,
// so that neither sees the stacks of others.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME")) // where macOS has its caches
}

// remains lists what there is of the test's stacks: containers, volumes,
// networks and lock files. The test must be alone.
func remains(t *testing.T, cli *client.Client) (what []string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "lockcost", "containers")
	machine, err := os.ReadFile(filepath.Join(dir, "machine"))
	if err != nil {
		return nil // nothing has been started yet
	}
	filter := make(client.Filters).Add("label", "lockcost.machine="+strings.TrimSpace(string(machine)))
	ctx := context.Background() // also after the test
	containers, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		what = append(what, "container "+c.Names[0])
	}
	volumes, err := cli.VolumeList(ctx, client.VolumeListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Items {
		what = append(what, "volume "+v.Name)
	}
	networks, err := cli.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		what = append(what, "network "+n.Name)
	}
	locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	return append(what, locks...)
}
