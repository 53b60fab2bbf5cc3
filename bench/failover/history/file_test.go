package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env/envtest"
)

var header = Header{
	Scenario: "crash-once", Variant: "min-replicas", Path: "fencing", Trial: 7,
	StartedAt: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC), FaultNS: -1, TTLNS: 30_000_000_000,
}

// history is operations with everything that one can have, in the order in
// which they returned.
func history() []Op {
	full := with(grant(1, 10, 20, 100, 90), func(o *Op) {
		o.Token, o.Read, o.Charge = 18446744073709551615, step(21, 30, Unpaid), step(31, 40, Charged)
	})
	broken := with(grant(2, 15, 25, 100, never), func(o *Op) { o.Read = step(26, 27, "line\nbreak \"<&") })
	return []Op{full, broken, attempt(1, 30, 31, Held)}
}

func TestHistoryComesBackAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trial"+Extension)
	want := history()
	shuffled := []Op{want[2], want[0], want[1]}
	if err := Write(path, header, shuffled); err != nil {
		t.Fatal(err)
	}
	h, ops, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	wantHeader := header
	wantHeader.Schema = Schema
	if h != wantHeader {
		t.Errorf("header %+v, want %+v", h, wantHeader)
	}
	if !reflect.DeepEqual(ops, want) {
		t.Errorf("operations\n%s\nwant\n%s", showAll(ops), showAll(want))
	}
	if shuffled[0].Acquire.ReturnedNS != 31 {
		t.Error("Write has sorted its caller's operations")
	}
}

func TestHistoryIsLinesThatOthersCanRead(t *testing.T) {
	var file bytes.Buffer
	if err := encode(&file, header, history()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(unzip(t, file.Bytes())), "\n")
	want := []string{
		`{"schema":"lockcost/history/v1","scenario":"crash-once","variant":"min-replicas","path":"fencing","trial":7,` +
			`"started_at":"2026-03-01T12:00:00.123456789Z","fault_ns":-1,"ttl_ns":30000000000}`,
		`{"client":"first","order":1,"due_ns":10,"acquire":{"invoked_ns":10,"returned_ns":20,"result":"granted"},` +
			`"ttl_ns":100,"token":18446744073709551615,"read":{"invoked_ns":21,"returned_ns":30,"result":"unpaid"},` +
			`"charge":{"invoked_ns":31,"returned_ns":40,"result":"charged"},` +
			`"release":{"invoked_ns":90,"returned_ns":91,"result":"released"}}`,
	}
	if len(lines) != 4 || lines[0] != want[0] || lines[1] != want[1] {
		t.Errorf("lines\n%s\nwant 4 that begin with\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestAHistoryWithoutOperations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trial"+Extension)
	if err := Write(path, header, nil); err != nil {
		t.Fatal(err)
	}
	if _, ops, err := Read(path); err != nil || len(ops) != 0 {
		t.Errorf("%d operations, %v, want none", len(ops), err)
	}
}

func TestDamagedFilesAreExplained(t *testing.T) {
	var whole bytes.Buffer
	if err := encode(&whole, header, history()); err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole.Bytes())
	flipped[len(flipped)-6] ^= 1 // in the checksum
	head := strings.SplitAfter(unzip(t, whole.Bytes()), "\n")[0]
	op := `{"client":"first","order":1,"due_ns":1,"ttl_ns":1,"acquire":{"invoked_ns":1,"returned_ns":2,"result":"held"}}` + "\n"
	tests := []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "it is empty"},
		{"plain text", []byte(head + op), "not compressed by gzip"},
		{"only the mark of gzip", whole.Bytes()[:5], "cut off, from line 1 on"},
		{"without its checksum", whole.Bytes()[:whole.Len()-8], "cut off, from line"},
		{"a wrong checksum", flipped, "damaged, from line"},
		{"something after it", append(bytes.Clone(whole.Bytes()), "more"...), "from line"},
		{"two histories", append(bytes.Clone(whole.Bytes()), whole.Bytes()...), "line 5 is no operation"},
		{"nothing in it", zip(t, ""), "no header"},
		{"no header", zip(t, op+op), `it has the schema "", not "lockcost/history/v1"`},
		{"another schema", zip(t, `{"schema":"lockcost/history/v2","more":1}`+"\n"), `it has the schema "lockcost/history/v2"`},
		{"a header of no JSON", zip(t, "schema\n"), "line 1 is no header"},
		{"an unknown key in the header", zip(t, strings.Replace(head, "{", `{"extra":1,`, 1)), "line 1 is no header"},
		{"an operation of no JSON", zip(t, head+op+"client\n"+op), "line 3 is no operation"},
		{"half an operation", zip(t, head+op+op[:40]), "line 3 is no operation"},
		{"an unknown key", zip(t, head+strings.Replace(op, "{", `{"extra":1,`, 1)), "line 2 is no operation"},
		{"an operation of nobody", zip(t, head+op+"{}\n"), "line 3 is no operation: an operation on order 0 names no client"},
		{"two in a line", zip(t, head+strings.TrimSpace(op)+op), "line 2 is no operation: more than one value"},
		{"a blank line", zip(t, head+"\n"+op), "line 2 is no operation"},
		{"a line without end", zip(t, head+strings.Repeat(" ", lineBytes+1)), "line 2 is longer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trial"+Extension)
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, ops, err := Read(path)
			if err == nil {
				t.Fatalf("read, with %d operations", len(ops))
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant the file's name and %q", err, test.want)
			}
			if ops != nil {
				t.Errorf("%d operations beside the error", len(ops))
			}
		})
	}
}

// TestCutOffAnywhere cuts a history off after each of its bytes.
func TestCutOffAnywhere(t *testing.T) {
	var whole bytes.Buffer
	if err := encode(&whole, header, history()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < whole.Len(); n++ {
		_, _, err := decode(bytes.NewReader(whole.Bytes()[:n]))
		if err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("cut off after %d of %d bytes: %v", n, whole.Len(), err)
		}
	}
	if _, _, err := decode(&whole); err != nil {
		t.Errorf("whole: %v", err)
	}
}

func TestReadNamesWhatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent"+Extension)
	_, _, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want the file's name and that it does not exist", err)
	}
}

func TestWriteNamesTheFileThatItCannotWrite(t *testing.T) {
	dir := t.TempDir()
	occupied := filepath.Join(dir, "folder"+Extension)
	if err := os.MkdirAll(filepath.Join(occupied, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "absent", "trial"+Extension), occupied} {
		if err := Write(path, header, history()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want an error that names %s", err, path)
		}
	}
	wantOnly(t, dir, filepath.Base(occupied))
}

func TestAFailedWriteLeavesTheFormerFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trial"+Extension)
	if err := Write(path, header, history()); err != nil {
		t.Fatal(err)
	}
	nobodys := append(history(), Op{Order: 9})
	if err := Write(path, header, nobodys); err == nil || !strings.Contains(err.Error(), "order 9 names no client") {
		t.Errorf("%v, want an error about the operation of nobody", err)
	}
	wantOnly(t, dir, filepath.Base(path))
	if _, ops, err := Read(path); err != nil || len(ops) != len(history()) {
		t.Errorf("%d operations, %v, want the former history", len(ops), err)
	}
	if err := Write(path, header, history()[:1]); err != nil {
		t.Fatal(err)
	}
	if _, ops, err := Read(path); err != nil || len(ops) != 1 {
		t.Errorf("%d operations, %v, want the new history", len(ops), err)
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		envtest.Lack(t, fmt.Sprintf("needs a device that is always full: %v", err))
	}
	defer full.Close()
	if err := encode(full, header, history()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want that there is no space left", err)
	}
}

// wantOnly fails where the folder has anything but the named.
func wantOnly(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != name {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	compressed := gzip.NewWriter(&file)
	if _, err := compressed.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func unzip(t *testing.T, file []byte) string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(plain); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
