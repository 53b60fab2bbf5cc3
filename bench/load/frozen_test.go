package load

import (
	"context"
	"lockcost/results"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The child of this test is frozen for 200 ms while it drives an operation
// that takes no time. What it then reports must be lag and a pause of its
// own, not a slow response.
func TestFrozenDriverShowsAsLag(t *testing.T) {
	if os.Getenv("LOCKCOST_TEST_FROZEN") != "" {
		p := plan()
		p.Duration = 1500 * time.Millisecond
		os.Stdout.WriteString("running\n")
		r := mustRun(t, p, func(_ context.Context, o *Op) error { o.End(0); return nil })
		lag, acquire := r.Spans[results.SpanLag], r.Spans[results.SpanAcquire]
		if lag.Max() < int64(150*time.Millisecond) || lag.Quantile(0.95) < int64(20*time.Millisecond) {
			t.Errorf("lag: P95 %v, max %v", time.Duration(lag.Quantile(0.95)), time.Duration(lag.Max()))
		}
		if got := acquire.Quantile(0.99); got > int64(50*time.Millisecond) {
			t.Errorf("the freeze shows as a response: P99 %v", time.Duration(got))
		}
		if r.Instrument.PauseMaxNS < int64(150*time.Millisecond) {
			t.Errorf("longest pause %v", time.Duration(r.Instrument.PauseMaxNS))
		}
		if r.Instrument.Queued > 0 {
			t.Errorf("%d slots queued", r.Instrument.Queued)
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFrozenDriverShowsAsLag$", "-test.v")
	child.Env = append(os.Environ(), "LOCKCOST_TEST_FROZEN=1")
	out := &lines{began: make(chan struct{})}
	child.Stdout = out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-out.began
	time.Sleep(500 * time.Millisecond)
	_ = child.Process.Signal(syscall.SIGSTOP)
	time.Sleep(200 * time.Millisecond)
	_ = child.Process.Signal(syscall.SIGCONT)
	if err := child.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.text.String())
	}
}

// lines keeps what a child prints, and tells when it says that it is running.
type lines struct {
	text  strings.Builder
	began chan struct{}
	once  sync.Once
}

func (l *lines) Write(p []byte) (int, error) {
	l.text.Write(p)
	if strings.Contains(l.text.String(), "running") {
		l.once.Do(func() { close(l.began) })
	}
	return len(p), nil
}
