// Package reexec runs parts of this program as processes of their own: the
// same binary, executed again. A part must not share the driver's CPUs, as
// the link and the exact-delay server, or has to outlive the command, as the
// supervisor of a stack that is left running.
//
// A program lists its parts in Main, first thing in main or TestMain. Start
// runs one of them; the two then talk in JSON values over the child's
// standard input and output: a configuration, a greeting that says it is
// ready, and after that a reply to each request.
//
// A part ends when its input does, so it outlives its starter only if it was
// started as Detached.
package reexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// marker carries the part's name to the process that is to run it.
const marker = "LOCKCOST_PART"

// Part is a piece of the program that can be a process of its own.
type Part struct {
	Name string
	// Run does the part's work on what Start was given, until ctx ends: at
	// the end of the input, or by SIGTERM.
	Run func(ctx context.Context, c *Child) error
}

// Child is a part's end of the conversation.
type Child struct {
	in  *json.Decoder
	out *json.Encoder
	end context.CancelCauseFunc
}

// Main runs the part that this process was started to be, and exits. In an
// ordinary process it does nothing.
func Main(parts ...Part) {
	name := os.Getenv(marker)
	if name == "" {
		return
	}
	_ = os.Unsetenv(marker) // what the part starts is not the part
	for _, p := range parts {
		if p.Name == name {
			os.Exit(p.run())
		}
	}
	fmt.Fprintf(os.Stderr, "this program has no part %q\n", name)
	os.Exit(2)
}

func (p Part) run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// Ctrl-C is for the starter to handle.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	c := &Child{in: json.NewDecoder(os.Stdin), out: json.NewEncoder(os.Stdout), end: cancel}
	if err := p.Run(ctx, c); err != nil && ctx.Err() == nil {
		// Where the starter does not listen any more, stderr is all there is.
		if c.out.Encode(message{Error: err.Error()}) != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return 1
	}
	return 0
}

// message is what a child writes: a value, or what went wrong.
type message struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Config reads the configuration that Start was given.
func (c *Child) Config(v any) error {
	if err := c.in.Decode(v); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return nil
}

// Ready tells the starter that the part is ready, and what it should know.
func (c *Child) Ready(v any) error { return c.send(v, nil) }

// Serve has answer answer requests, one at a time, until the input ends, and
// then ends the part's context. An error of answer's goes to the caller.
func (c *Child) Serve(answer func(request json.RawMessage) (any, error)) error {
	for {
		var request json.RawMessage
		err := c.in.Decode(&request)
		if errors.Is(err, io.EOF) {
			c.end(nil)
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := c.send(answer(request)); err != nil {
			return err
		}
	}
}

func (c *Child) send(v any, failure error) error {
	if failure != nil {
		return c.out.Encode(message{Error: failure.Error()})
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.out.Encode(message{Value: raw})
}
