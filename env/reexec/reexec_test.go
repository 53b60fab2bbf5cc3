package reexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main(
		Part{"echo", echo},
		Part{"broken", func(context.Context, *Child) error { return errors.New("the cellar is flooded") }},
		Part{"crash", func(context.Context, *Child) error { panic("out of coffee") }},
		Part{"mute", func(ctx context.Context, c *Child) error { <-ctx.Done(); return nil }},
	)
	os.Exit(m.Run())
}

// echo greets by its configuration, and then repeats what it is told.
func echo(_ context.Context, c *Child) error {
	var name string
	if err := c.Config(&name); err != nil {
		return err
	}
	if err := c.Ready("hello " + name); err != nil {
		return err
	}
	return c.Serve(func(request json.RawMessage) (any, error) {
		var text string
		if err := json.Unmarshal(request, &text); err != nil {
			return nil, fmt.Errorf("not a text: %s", request)
		}
		return text + "!", nil
	})
}

func TestPartConverses(t *testing.T) {
	var greeting string
	p, err := Start(t.Context(), Options{Part: "echo", Config: "world"}, &greeting)
	if err != nil {
		t.Fatal(err)
	}
	if greeting != "hello world" || p.PID == os.Getpid() {
		t.Errorf("process %d said %q", p.PID, greeting)
	}
	var reply string
	if err := p.Call(t.Context(), "again", &reply); err != nil || reply != "again!" {
		t.Errorf("got %q, %v", reply, err)
	}
	if err := p.Call(t.Context(), 7, &reply); err == nil || !strings.Contains(err.Error(), "echo: not a text: 7") {
		t.Errorf("a request it cannot answer: %v", err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(p.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", p.PID, err)
	}
	if err := p.Call(t.Context(), "too late", nil); err == nil {
		t.Error("an ended part took a request")
	}
}

func TestStartSaysWhy(t *testing.T) {
	for part, want := range map[string]string{
		"broken":  "starting the broken: the cellar is flooded",
		"crash":   "out of coffee",
		"unknown": `no part "unknown"`,
	} {
		_, err := Start(t.Context(), Options{Part: part}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", part, err, want)
		}
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Options{Part: "mute"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
