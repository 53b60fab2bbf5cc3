package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSaveAndLoad(t *testing.T) {
	folder, err := Create(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	want := exampleRecord(2)
	for range 2 { // the second replaces the first
		if err := folder.Save(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(folder.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Paths[2].Runs[1].Spans, want.Paths[2].Runs[1].Spans) ||
		!reflect.DeepEqual(got.Paths[4].Cost, want.Paths[4].Cost) || !got.StartedAt.Equal(want.StartedAt) {
		t.Error("the record came back different")
	}
	files, _ := os.ReadDir(folder.Dir())
	if len(files) != 2 || files[0].Name() != "bench.txt" || files[1].Name() != "run.json" {
		t.Errorf("the folder has %v", files)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	folder, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(exampleRecord(1)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                       "already holds a run (run.json): name another folder",
		file:                      "name another folder",
		filepath.Join(file, "in"): "name another folder",
	} {
		_, err := Create(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("Create(%s): %v; want one line with the path and %q", path, err, want)
		}
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	folder, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(exampleRecord(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "run.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, text, want string }{
		{"half-written", string(whole[:len(whole)/2]), "incomplete or damaged"},
		{"empty", "", "incomplete or damaged"},
		{"another version", strings.Replace(string(whole), Schema, "lockcost/run/v2", 1), `"lockcost/run/v2", and this program reads "lockcost/run/v1"`},
		{"another program's", `{"a": 1}`, `has the schema ""`},
		{"wrong type", `{"schema": "` + Schema + `", "paths": 3}`, "does not keep to its schema"},
	}
	for _, c := range cases {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a run's folder") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no folder: %v", err)
	}
}

// A driver killed while it saves leaves the former record, whole, and at
// most a temporary file beside it.
func TestUnfinishedSaveHidesNothing(t *testing.T) {
	folder, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(exampleRecord(3)); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(folder.Dir(), "run.json-1.tmp")
	if err := os.WriteFile(half, []byte(`{"schema": "lock`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Load(folder.Dir()); err != nil || len(r.Paths[2].Runs) != 3 {
		t.Errorf("blocks 1 to 3 are lost: %v", err)
	}
}

func TestDiskFullIsSaid(t *testing.T) {
	err := describe("write", "/data/run.json", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if !strings.Contains(err.Error(), "cannot write /data/run.json: disk full") || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	spool := Spool{file: full}
	defer full.Close()
	err = spool.Add(0, time.Second, map[SpanName][]int64{SpanLag: {1}})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("samples for a full disk: %v", err)
	}
}

func TestLabels(t *testing.T) {
	p := Path{Path: "setnx-wait", Options: map[string]string{"round-trips": "2", "a": "x/y z"}, ReplicaRTTNS: 1_000_000}
	if got := p.Label(); got != "setnx-wait:a=x/y z:round-trips=2@1ms" {
		t.Errorf("label %q", got)
	}
	if got := p.FileName(); got != "setnx-wait+a=x_y_z+round-trips=2.hlog" {
		t.Errorf("file %q", got)
	}
	if logName(p.Label()) != p.FileName() {
		t.Error("a label with its distance leads to another file")
	}
	if got := logName("../up"); strings.ContainsAny(got, "/") || strings.HasPrefix(got, ".") {
		t.Errorf("file %q leaves the folder", got)
	}
	if got := (Path{Path: "setnx"}).FileName(); got != "setnx.hlog" {
		t.Errorf("file %q", got)
	}
}

func TestFolderIsForOneRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	first, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); err == nil {
		t.Error("two runs got the same folder at once")
	}
	if err := first.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a run in which nothing was measured is still there: %v", err)
	}
}
