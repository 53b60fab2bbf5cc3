package assembly

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are chosen below 32768, where Linux begins to hand out the local
// ports of outgoing connections: a client's connection could otherwise sit
// on a port for the whole life of a killed server that is to come back to it.
const (
	portFirst = 20000
	portLast  = 31999
	portTries = 100
)

// FreePort returns a loopback port on which nobody listens at this moment.
// It is chosen at random so that two stacks starting at once seldom meet.
func FreePort() (int, error) {
	for range portTries {
		port := portFirst + rand.IntN(portLast-portFirst+1)
		l, err := net.Listen("tcp4", Loopback(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("probing port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("no free port among %d tried from %d to %d", portTries, portFirst, portLast)
}

// Loopback is the address of a port there.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
