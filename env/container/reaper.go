package container

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

const (
	// reaperPull bounds the one attempt to get the reaper's image, which is
	// small.
	reaperPull     = 3 * time.Second
	reaperDisabled = "TESTCONTAINERS_RYUK_DISABLED"
)

// settled is once: testcontainers reads its settings at their first use, for
// the whole process.
var settled sync.Once

// settle must come before anything else of testcontainers'. It keeps it
// silent, and leaves it its reaper, a container which removes ours soon after
// this process has died, where its image can be had. Where it cannot, nothing
// of testcontainers' would start; then our next start removes what was left.
func settle(ctx context.Context, cli *client.Client) {
	settled.Do(func() {
		log.SetDefault(quiet)
		if os.Getenv(reaperDisabled) != "true" && !hasReaper(ctx, cli) { // it takes no other word
			_ = os.Setenv(reaperDisabled, "true")
		}
	})
}

func hasReaper(ctx context.Context, cli *client.Client) bool {
	//lint:ignore SA1019 the name of the image that testcontainers will use is told nowhere else
	image := testcontainers.ReaperDefaultImage
	ctx, cancel := context.WithTimeout(ctx, reaperPull)
	defer cancel()
	if _, err := cli.ImageInspect(ctx, image); err == nil {
		return true
	}
	return download(ctx, cli, image, "") == nil
}
