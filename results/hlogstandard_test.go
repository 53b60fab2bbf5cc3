package results

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

const javaJar = "/usr/share/java/hdrhistogram.jar"

// needJava skips without the Java tools, and fails where CI is set.
func needJava(t *testing.T) {
	t.Helper()
	_, errJava := exec.LookPath("java")
	_, errJar := os.Stat(javaJar)
	if errJava == nil && errJar == nil {
		return
	}
	const missing = "needs java and Debian's libhdrhistogram-java"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

func TestJavaReadsTheLog(t *testing.T) {
	needJava(t)
	log := filepath.Join(spooled(t).Dir(), "setnx-wait.hlog")
	out, err := exec.Command("java", "-cp", javaJar, "org.HdrHistogram.HistogramLogProcessor",
		"-i", log, "-tag", "run=1;rtt=1000000;span=acquire").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"#[StartTime: 1789986659.123 (seconds since epoch)",
		"Max     =        1.000, Total count    =            8]", // ms; 2 seconds of 4 samples
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in what Java makes of the log:\n%s", want, out)
		}
	}
	out, err = exec.Command("java", "-cp", javaJar, "org.HdrHistogram.HistogramLogProcessor", "-i", log, "-listtags").CombinedOutput()
	if err != nil || strings.Count(string(out), "run=") != 4 {
		t.Errorf("tags: %v: %s", err, out)
	}
}

// writeOneSecond logs a single operation of 1 ms that began at start.
func writeOneSecond(t *testing.T, path string, start time.Time) {
	t.Helper()
	w, err := openLog(path, 0, Distance{}, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.write(SpanAcquire, time.Second, time.Second, filled(map[int64]int{1_000_000: 1})); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}

// Milliseconds have to survive the standard reader's floating point.
func TestStandardReaderKeepsMilliseconds(t *testing.T) {
	dir := t.TempDir()
	for ms := 0; ms < 1000; ms += 7 {
		start := time.UnixMilli(1_789_986_659_000 + int64(ms))
		path := filepath.Join(dir, "one.hlog")
		os.Remove(path)
		writeOneSecond(t, path, time.UnixMilli(1_789_986_600_123)) // a run before, which sets the base
		writeOneSecond(t, path, start)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		reader := hdrhistogram.NewHistogramLogReader(bytes.NewReader(text))
		var h *hdrhistogram.Histogram
		for range 2 {
			if h, err = reader.NextIntervalHistogram(); err != nil || h == nil {
				t.Fatalf("the standard reader: %v", err)
			}
		}
		if want := start.UnixMilli() + 1000; h.StartTimeMs() != want || h.EndTimeMs() != want+1000 {
			t.Fatalf("read from %d to %d, want from %d for a second", h.StartTimeMs(), h.EndTimeMs(), want)
		}
	}
}

func TestIntervalMaxIsInMilliseconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.hlog")
	writeOneSecond(t, path, logStart)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Tag=run=0;rtt=0;span=acquire,1.123456789,1.000000000,1.000000,HIST"; !strings.Contains(string(text), want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	got, err := parseLog(bufio.NewReader(bytes.NewReader(text)))
	if err != nil || len(got) != 1 || got[0].Histogram.Max() != 1_000_000 {
		t.Errorf("an operation of 1 ms came back as %+v, %v", got, err)
	}
}
