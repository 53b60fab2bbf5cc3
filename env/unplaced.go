package env

import (
	"net"
	"slices"
)

// Unplaced tells whether a server may run on CPUs of the driver's: one that
// is on this machine and confined to no others.
func (s *Stack) Unplaced() bool {
	return len(s.Pinned) == 0 && slices.ContainsFunc(s.Nodes, func(n Node) bool { return here(n.Addr) })
}

// here tells whether an address is this machine's.
func here(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		})
	})
}
