package link_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"lockcost/env/link"
)

// lineServer answers each line it gets with the same line, and remembers it.
type lineServer struct {
	listener net.Listener
	mu       sync.Mutex
	received []string
}

func startLineServer(t *testing.T) *lineServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{listener: listener}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.answer(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return s
}

func (s *lineServer) answer(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		s.mu.Lock()
		s.received = append(s.received, lines.Text())
		s.mu.Unlock()
		fmt.Fprintln(conn, lines.Text())
	}
}

func (s *lineServer) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// client is one connection that asks a line at a time.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn: conn, in: bufio.NewReader(conn)}
}

func (c *client) ask(line string) (string, error) {
	if _, err := fmt.Fprintln(c.conn, line); err != nil {
		return "", err
	}
	answer, err := c.in.ReadString('\n')
	return answer, err
}

func (c *client) mustAsk(t *testing.T, line string) {
	t.Helper()
	if got, err := c.ask(line); err != nil || got != line+"\n" {
		t.Fatalf("asked %q: got %q, %v", line, got, err)
	}
}

func startLink(t *testing.T, target string) *link.Link {
	t.Helper()
	l, err := link.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestForwards(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	a, b := dial(t, l.Addr()), dial(t, l.Addr())
	a.mustAsk(t, "one")
	b.mustAsk(t, "two")
	a.mustAsk(t, "three")
}

func TestCutReplyLosesTheAnswerOfAnExecutedRequest(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	a, b := dial(t, l.Addr()), dial(t, l.Addr())
	happened := l.CutReply(3)
	a.mustAsk(t, "one")
	b.mustAsk(t, "two")
	select {
	case <-happened:
		t.Fatal("cut too early")
	default:
	}
	if got, err := a.ask("three"); err == nil {
		t.Fatalf("third reply was delivered: %q", got)
	}
	<-happened
	if want, got := []string{"one", "two", "three"}, server.lines(); !slices.Equal(got, want) {
		t.Errorf("server received %q, want %q", got, want)
	}
	b.mustAsk(t, "four") // the other connection lives on
	dial(t, l.Addr()).mustAsk(t, "five")
}

func TestCutRequestNeverReachesTheServer(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	a := dial(t, l.Addr())
	a.mustAsk(t, "one")
	happened := l.CutRequest(1)
	if got, err := a.ask("two"); err == nil {
		t.Fatalf("cut request was answered: %q", got)
	}
	<-happened
	dial(t, l.Addr()).mustAsk(t, "three")
	if want, got := []string{"one", "three"}, server.lines(); !slices.Equal(got, want) {
		t.Errorf("server received %q, want %q", got, want)
	}
}

func TestTwoCutsAtTheSameReplyHappenOneAfterTheOther(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	first, second := l.CutReply(1), l.CutReply(1)
	for i, happened := range []<-chan struct{}{first, second} {
		if _, err := dial(t, l.Addr()).ask("x"); err == nil {
			t.Fatalf("reply %d was delivered", i+1)
		}
		<-happened
	}
	dial(t, l.Addr()).mustAsk(t, "y")
}

func TestMendForgetsCuts(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	happened := l.CutReply(1)
	l.CutRequest(1)
	l.Mend()
	dial(t, l.Addr()).mustAsk(t, "one")
	select {
	case <-happened:
		t.Error("happened all the same")
	default:
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := startLink(t, listener.Addr().String())
	listener.Close()
	if got, err := dial(t, l.Addr()).ask("one"); err == nil {
		t.Errorf("answered without a server: %q", got)
	}
}

func TestClose(t *testing.T) {
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	a := dial(t, l.Addr())
	a.mustAsk(t, "one")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ask("two"); err == nil {
		t.Error("connection outlived its link")
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestNewRefusesAnAddressWithoutPort(t *testing.T) {
	if _, err := link.New("localhost"); err == nil {
		t.Error("accepted")
	}
}
