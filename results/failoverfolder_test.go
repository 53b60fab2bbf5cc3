package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func failoverFolder(t *testing.T) *FailoverFolder {
	t.Helper()
	folder, err := CreateFailover(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestFailoverSaveAndLoad(t *testing.T) {
	folder, want := failoverFolder(t), exampleFailover(6)
	for range 2 { // the second replaces the first
		if err := folder.Save(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := LoadFailover(folder.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record came back different:\n%+v\n%+v", got, want)
	}
	if got.Summarize(); !reflect.DeepEqual(got, want) {
		t.Error("a record that was read sums up to something else")
	}
	entries, _ := os.ReadDir(folder.Dir())
	if len(entries) != 2 || entries[0].Name() != "failover.json" || entries[1].Name() != "histories" {
		t.Errorf("the folder has %v", entries)
	}
}

func TestFailoverFolderIsClaimedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var won []*FailoverFolder
	var lock sync.Mutex
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			folder, err := CreateFailover(dir)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err == nil:
				won = append(won, folder)
			case !strings.Contains(err.Error(), dir+" already holds fault experiments (failover.json): name another folder"):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Fatalf("%d of 16 got the folder", len(won))
	}
	if err := won[0].Save(exampleFailover(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateFailover(dir); err == nil {
		t.Error("a folder with a record was given away")
	}
	if _, err := LoadFailover(dir); err != nil {
		t.Errorf("the refused took something with them: %v", err)
	}
}

func TestFailoverFolderDoesNotMixHistories(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "histories", "crash.setnx.0.jsonl.gz")
	if err := errors.Join(os.Mkdir(filepath.Dir(old), 0o755), os.WriteFile(old, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateFailover(dir); err == nil || !strings.Contains(err.Error(), "histories/crash.setnx.0.jsonl.gz") {
		t.Errorf("histories of other experiments: %v", err)
	}
	if IsFailover(dir) {
		t.Error("the folder that was refused is claimed")
	}
}

func TestFailoverDiscard(t *testing.T) {
	folder := failoverFolder(t)
	if err := folder.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	folder = failoverFolder(t)
	history := folder.HistoryPath(Scenario{Scenario: "crash", Path: "setnx"}, 0)
	if err := os.WriteFile(history, []byte("x"), 0o644); err != nil {
		t.Fatalf("a history cannot be written to its path: %v", err)
	}
	if err := folder.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(history); err != nil || IsFailover(folder.Dir()) {
		t.Errorf("the history should be left, without a record: %v", err)
	}
}

func TestLoadFailoverSaysWhatIsWrong(t *testing.T) {
	folder := failoverFolder(t)
	if err := folder.Save(exampleFailover(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder.Dir(), "failover.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, text, want string }{
		{"half-written", string(whole[:len(whole)/2]), "incomplete or damaged"},
		{"claimed only", "", "incomplete or damaged"},
		{"another version", strings.Replace(string(whole), FailoverSchema, "lockcost/failover/v2", 1), `"lockcost/failover/v2", and this program reads "lockcost/failover/v1"`},
		{"a run's", `{"schema": "` + Schema + `"}`, `has the schema "lockcost/run/v1"`},
		{"wrong type", `{"schema": "` + FailoverSchema + `", "scenarios": 3}`, "does not keep to its schema"},
	}
	for _, c := range cases {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadFailover(folder.Dir()); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if !IsFailover(folder.Dir()) {
			t.Errorf("%s: no longer known for fault experiments", c.name)
		}
	}
	empty := t.TempDir()
	if _, err := LoadFailover(empty); err == nil || !strings.Contains(err.Error(), "not a failover's folder: it has no failover.json") {
		t.Errorf("an empty folder: %v", err)
	}
	none := filepath.Join(empty, "none")
	if _, err := LoadFailover(none); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no folder: %v", err)
	}
	if IsFailover(empty) || IsFailover(none) {
		t.Error("folders without a record are taken for fault experiments")
	}
}

func TestHistoryNames(t *testing.T) {
	plain := Scenario{Scenario: "crash-steady", Path: "setnx"}
	if got := plain.HistoryName(3); got != "histories/crash-steady.setnx.3.jsonl.gz" {
		t.Errorf("name %q", got)
	}
	wait := Scenario{Scenario: "partition", Variant: "min-replicas", Path: "setnx-wait", Options: map[string]string{"round-trips": "2"},
		Replicas: 2, DownAfterNS: 5e8, ReplicaRTT: 1_500_000, RatePerS: 200}
	want := "histories/partition.min-replicas.setnx-wait+round-trips=2.replicas=2.down-after=500ms.replica-rtt=1_2e5ms.rate=200.0.jsonl.gz"
	if got := wait.HistoryName(0); got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	seen := map[string]Scenario{}
	for _, s := range []Scenario{plain, wait,
		{Scenario: "crash-steady", Path: "setnx", DownAfterNS: 5e8}, {Scenario: "crash-steady", Path: "setnx", DownAfterNS: 5e9},
		{Scenario: "crash-steady", Path: "setnx", ReplicaRTT: 1e6}, {Scenario: "crash-steady", Path: "setnx", RatePerS: 100},
		{Scenario: "crash-steady", Path: "setnx", HoldNS: 1e6}, {Scenario: "crash-steady", Path: "setnx", SecondNS: 1e6},
		{Scenario: "crash-steady", Path: "setnx", Options: map[string]string{"a": "x/y"}},
		{Scenario: "crash-steady", Path: "setnx", Options: map[string]string{"a": "x_y"}},
		{Scenario: "crash-steady", Path: "setnx", Options: map[string]string{"a": "X_y"}},
		{Scenario: "crash-steady", Path: "setnx", Options: map[string]string{"a": "x y"}},
		{Scenario: "../../crash", Path: ".."}, {Scenario: "", Path: ""},
	} {
		name := strings.ToLower(s.HistoryName(1))
		if other, taken := seen[name]; taken {
			t.Errorf("%+v and %+v share %q", s, other, name)
		}
		seen[name] = s
		if base := strings.TrimPrefix(name, "histories/"); base == name || strings.ContainsAny(base, `/\ :*?"<>|`) {
			t.Errorf("%q is no safe name", name)
		}
	}
}
