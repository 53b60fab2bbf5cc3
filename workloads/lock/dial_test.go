package lock

import (
	"net"
	"syscall"
	"testing"
)

func TestDetourLooksAsIfItWereNone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const announced, unknown = "192.0.2.1:6379", "127.0.0.1:1"
	dial := detour((&net.Dialer{}).DialContext, map[string]string{announced: listener.Addr().String()})
	conn, err := dial(t.Context(), "tcp", announced)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if at := conn.RemoteAddr().String(); at != announced {
		t.Errorf("it goes to %s, want %s", at, announced)
	}
	if _, ok := conn.(syscall.Conn); !ok {
		t.Errorf("a %T cannot be looked at for the other side's end", conn)
	}
	if conn, err := dial(t.Context(), "tcp", unknown); err == nil {
		conn.Close()
		t.Errorf("%s was reached", unknown)
	}
}
