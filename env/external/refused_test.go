package external_test

import (
	"net"
	"testing"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

func TestClusterIsRefused(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		at := processtest.RedisOf(t, v, "cluster-enabled yes", "cluster-port "+processtest.OtherPort)
		refused(t, external.Provider{Redis: at}, env.Spec{}, at, "Redis Cluster")
	})
}

func TestProtectedModeIsRefused(t *testing.T) {
	own := outward(t)
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		_, port, err := net.SplitHostPort(processtest.RedisOf(t, v, "bind 0.0.0.0", "protected-mode yes"))
		if err != nil {
			t.Fatal(err)
		}
		at := net.JoinHostPort(own, port)
		refused(t, external.Provider{Redis: at}, env.Spec{}, at, "protected mode")
	})
}

// outward returns an address of this machine that is not loopback.
func outward(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}
