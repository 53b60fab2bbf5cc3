package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockcost/env"
)

// need is processtest.Need, which this package cannot import.
func need(t *testing.T, spec env.Spec) {
	t.Helper()
	_, err := find(spec, "")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for program, pkg := range map[string]string{
		"redis-server": "redis-server", "mariadbd": "mariadb-server-core", "etcd": "etcd-server", "java": "default-jre-headless",
	} {
		_, err := lookIn(nil, program, pkg)
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Program != program {
			t.Errorf("without %s: %v", program, err)
			continue
		}
		if want := program + " is not installed: apt-get install " + pkg + " (or make deps)"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestProgramBesideThePathIsFound(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/mariadbd", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := lookIn([]string{dir}, "mariadbd", "mariadb-server-core"); path != dir+"/mariadbd" {
		t.Errorf("found %q, %v", path, err)
	}
}

// What a spec does not need is not looked for.
func TestOnlyWhatIsNeededMustBeThere(t *testing.T) {
	if len(serversIn(t, "java", "etcd")) > 0 {
		t.Skip("they are where a server is found beside the PATH")
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for program, spec := range map[string]env.Spec{
		"java": {NoRedis: true, ZooKeeper: 1}, "etcd": {NoRedis: true, Etcd: 1},
	} {
		_, err := find(spec, "")
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Program != program || !strings.Contains(err.Error(), "make deps") {
			t.Errorf("without %s: %v", program, err)
		}
	}
	if _, err := find(env.Spec{NoRedis: true}, ""); err != nil {
		t.Errorf("for nothing at all: %v", err)
	}
}

// serversIn is those of programs that are in the folders of servers.
func serversIn(t *testing.T, programs ...string) (there []string) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	for _, p := range programs {
		if path, err := look(p, ""); err == nil {
			there = append(there, path)
		}
	}
	return there
}

func TestEtcdThatWasBuiltLastIsFound(t *testing.T) {
	if len(serversIn(t, "etcd")) > 0 {
		t.Skip("an installed one goes first")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	bin := filepath.Join(cache, "lockcost", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, name := range []string{"etcd-v3.9.0", "etcd-v3.10.0", "unfinished-etcd-1"} {
		path := filepath.Join(bin, name)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := findEtcd(); filepath.Base(path) != "etcd-v3.10.0" {
		t.Errorf("found %q, %v", path, err)
	}
}

func TestZooKeeperIsFound(t *testing.T) {
	debian, home := t.TempDir(), t.TempDir()
	_, err := findZooKeeperIn(debian, []string{home})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Program != "zookeeper.jar" {
		t.Errorf("where there is none: %v", err)
	}
	lib := filepath.Join(home, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, jar := range []string{filepath.Join(lib, "zookeeper-3.9.3.jar"), filepath.Join(debian, "zookeeper.jar")} {
		if err := os.WriteFile(jar, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := findZooKeeperIn(debian, []string{home})
		if err != nil || filepath.Dir(found[0]) != filepath.Dir(jar) {
			t.Errorf("with %s: %q, %v", jar, found, err)
		}
	}
}

func TestRedisServerThatIsChosen(t *testing.T) {
	ours, theirs := filepath.Join(t.TempDir(), "valkey-server"), filepath.Join(t.TempDir(), "redis-server")
	for _, path := range []string{ours, theirs} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(redisVariable, theirs)
	for chosen, want := range map[string]string{"": theirs, ours: ours} {
		if p, err := find(env.Spec{}, chosen); p.redis != want {
			t.Errorf("asked for %q: %q, %v", chosen, p.redis, err)
		}
	}
	for _, missing := range []string{"/no/redis-server", t.TempDir()} {
		if _, err := find(env.Spec{}, missing); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("asked for %s: %v", missing, err)
		}
	}
}
