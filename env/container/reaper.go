package container

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// reaperPull bounds the one attempt to get the reaper's image, which is
	// small.
	reaperPull     = 3 * time.Second
	reaperDisabled = "TESTCONTAINERS_RYUK_DISABLED"
)

// reaper is decided on once: testcontainers reads its settings at their
// first use, for the whole process.
var reaper sync.Once

// settleReaper leaves testcontainers its reaper, a container which removes
// ours soon after this process has died, where its image can be had. Without
// it every start of testcontainers' would fail; then the next start of ours
// removes what was left.
func settleReaper(ctx context.Context, cli *client.Client) {
	reaper.Do(func() {
		if os.Getenv(reaperDisabled) != "" {
			return
		}
		//lint:ignore SA1019 the name of the image that testcontainers will use is told nowhere else
		image := testcontainers.ReaperDefaultImage
		if _, err := cli.ImageInspect(ctx, image); err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, reaperPull)
		defer cancel()
		if err := download(ctx, cli, image, ""); err != nil {
			_ = os.Setenv(reaperDisabled, "true")
		}
	})
}
