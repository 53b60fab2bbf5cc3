// Package containertest starts stacks of real servers in containers for
// tests.
package containertest

import (
	"cmp"
	"errors"
	"os"
	"testing"

	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/envtest"
)

// LocalImage is what env/container/image/build makes. Tests use it unless the
// environment names other images.
const LocalImage = "localhost/lockcost:bookworm"

// Provider runs stacks from the images that are at hand.
func Provider() container.Provider {
	return container.Provider{
		RedisImage:     cmp.Or(os.Getenv(container.RedisImageVariable), LocalImage),
		LedgerImage:    cmp.Or(os.Getenv(container.LedgerImageVariable), LocalImage),
		EtcdImage:      cmp.Or(os.Getenv(container.EtcdImageVariable), LocalImage),
		ZooKeeperImage: cmp.Or(os.Getenv(container.ZooKeeperImageVariable), LocalImage),
	}
}

// Start starts what spec asks for, and ends it when the test and its subtests
// are done. Where there is no Docker engine or no image the test is skipped,
// and says which; where CI is set that is a failure.
func Start(t testing.TB, spec env.Spec) *env.Stack {
	t.Helper()
	return StartWith(t, Provider(), spec)
}

// StartWith is Start with a provider that is set up in another way.
func StartWith(t testing.TB, p container.Provider, spec env.Spec) *env.Stack {
	t.Helper()
	return envtest.StartWith(t, p, spec, Need)
}

// Need skips the test where err tells that there is no Docker engine or no
// image, and fails it where CI is set. Any other err is the caller's.
func Need(t testing.TB, err error) {
	t.Helper()
	var missing *container.MissingImageError
	var unavailable *container.UnavailableError
	if !errors.As(err, &missing) && !errors.As(err, &unavailable) {
		return
	}
	envtest.Lack(t, err)
}
