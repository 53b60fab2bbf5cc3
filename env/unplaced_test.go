package env

import (
	"net"
	"testing"
)

func TestServersThatMayRunWithTheDriver(t *testing.T) {
	at := func(addrs ...string) *Stack {
		s := &Stack{}
		for _, a := range addrs {
			s.Nodes = append(s.Nodes, Node{Addr: a})
		}
		return s
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		host, _, err := net.ParseCIDR(a.String())
		if err == nil && !at("192.0.2.1:6379", net.JoinHostPort(host.String(), "6379")).Unplaced() {
			t.Errorf("a server at %s, an address of this machine's, is placed", a)
		}
	}
	if !at("localhost:6379").Unplaced() {
		t.Error("a server at localhost is placed")
	}
	if at("192.0.2.1:6379").Unplaced() {
		t.Error("a server on another machine is not placed")
	}
	pinned := at("localhost:6379")
	pinned.Pinned = []int{1}
	if pinned.Unplaced() {
		t.Error("a pinned server is not placed")
	}
}
