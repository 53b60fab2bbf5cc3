package container

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"lockcost/env"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// The images, where nothing else is chosen.
const (
	DefaultRedisImage     = "redis:7.2"
	DefaultLedgerImage    = "mysql:8.4"
	DefaultEtcdImage      = "quay.io/coreos/etcd:v3.7.3" // as go.mod has it
	DefaultZooKeeperImage = "zookeeper:3.9"
)

// The environment variables that choose others.
const (
	RedisImageVariable     = "LOCKCOST_REDIS_IMAGE"
	LedgerImageVariable    = "LOCKCOST_LEDGER_IMAGE"
	EtcdImageVariable      = "LOCKCOST_ETCD_IMAGE"
	ZooKeeperImageVariable = "LOCKCOST_ZOOKEEPER_IMAGE"
)

// MissingImageError tells that an image is not on this machine and cannot be
// pulled.
type MissingImageError struct {
	Image  string
	Reason string // the engine's or the registry's, in short
}

func (e *MissingImageError) Error() string {
	const local = "localhost/lockcost:bookworm"
	if strings.HasPrefix(e.Image, "localhost/") {
		return fmt.Sprintf("image %s is not here: docker images tells which are, and env/container/image/build --help how to make one", e.Image)
	}
	return fmt.Sprintf("image %s is not here and cannot be pulled (%s): env/container/image/build makes %[3]s from Debian packages; "+
		"then --redis-image %[3]s, and so for --ledger-image, --etcd-image and --zookeeper-image", e.Image, e.Reason, local)
}

// images is the images of a stack.
type images struct{ redis, ledger, etcd, zooKeeper string }

func (p Provider) images() images {
	return images{
		redis:     cmp.Or(p.RedisImage, os.Getenv(RedisImageVariable), DefaultRedisImage),
		ledger:    cmp.Or(p.LedgerImage, os.Getenv(LedgerImageVariable), DefaultLedgerImage),
		etcd:      cmp.Or(p.EtcdImage, os.Getenv(EtcdImageVariable), DefaultEtcdImage),
		zooKeeper: cmp.Or(p.ZooKeeperImage, os.Getenv(ZooKeeperImageVariable), DefaultZooKeeperImage),
	}
}

func (i images) of(k env.Kind) string {
	switch k {
	case env.KindLedger:
		return i.ledger
	case env.KindEtcd:
		return i.etcd
	case env.KindZooKeeper:
		return i.zooKeeper
	default:
		return i.redis
	}
}

// needed is the images that spec needs, each once.
func (i images) needed(spec env.Spec) (list []string) {
	add := func(needed bool, image string) {
		if needed && !slices.Contains(list, image) {
			list = append(list, image)
		}
	}
	add(!spec.NoRedis || spec.Independents > 0, i.redis)
	add(spec.Ledger, i.ledger)
	add(spec.Etcd > 0, i.etcd)
	add(spec.ZooKeeper > 0, i.zooKeeper)
	return list
}

// note says in a sentence what a stack runs in.
func (p Provider) note(ctx context.Context, cli *client.Client, spec env.Spec) string {
	version := ""
	if v, err := cli.ServerVersion(ctx, client.ServerVersionOptions{}); err == nil {
		version = " " + v.Version
	}
	var from []string
	for _, image := range p.images().needed(spec) {
		if found, err := inspect(ctx, cli, image); err == nil {
			image += fmt.Sprintf(" (%.19s)", found.ID)
		}
		from = append(from, image)
	}
	return fmt.Sprintf("The servers run in containers of Docker%s, network %s, from %s.",
		version, cmp.Or(p.Network, NetworkHost), strings.Join(from, " and "))
}

// ensureAll is ensure for all images that spec needs.
func (p Provider) ensureAll(ctx context.Context, cli *client.Client, spec env.Spec) error {
	for _, image := range p.images().needed(spec) {
		if err := p.ensure(ctx, cli, image); err != nil {
			return err
		}
	}
	return nil
}

// ensure pulls an image that is not here, and checks that the engine's
// machine can run it.
func (p Provider) ensure(ctx context.Context, cli *client.Client, image string) error {
	found, err := inspect(ctx, cli, image)
	if errdefs.IsNotFound(err) {
		p.progress("pulling " + image)
		if err := pull(ctx, cli, image); err != nil {
			return err
		}
		found, err = inspect(ctx, cli, image)
	}
	if err != nil && strings.Contains(err.Error(), "invalid reference") {
		return fmt.Errorf("%q is no name of an image", image)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", image, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	engine, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("asking the engine for its platform: %w", answered(ctx, err))
	}
	if found.Os != engine.Os || found.Architecture != engine.Arch {
		return fmt.Errorf("image %s is for %s/%s, and this engine runs %[4]s/%[5]s: docker pull --platform %[4]s/%[5]s %[1]s, or choose another image",
			image, found.Os, found.Architecture, engine.Os, engine.Arch)
	}
	return nil
}

func inspect(ctx context.Context, cli *client.Client, image string) (client.ImageInspectResult, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	found, err := cli.ImageInspect(ctx, image)
	return found, answered(ctx, err)
}

// pull pulls an image with the user's credentials for its registry.
func pull(ctx context.Context, cli *client.Client, image string) error {
	auth := ""
	if _, config, err := testcontainers.DockerImageAuth(ctx, image); err == nil {
		if auth, err = authconfig.Encode(config); err != nil {
			return fmt.Errorf("image %s: the registry's credentials: %w", image, err)
		}
	}
	err := download(ctx, cli, image, auth)
	if ctx.Err() != nil {
		return fmt.Errorf("pulling %s: %w", image, context.Cause(ctx))
	}
	if err != nil {
		return &MissingImageError{Image: image, Reason: strings.TrimPrefix(err.Error(), "Error response from daemon: ")}
	}
	return nil
}

// download pulls an image to its end.
func download(ctx context.Context, cli *client.Client, image, auth string) error {
	r, err := cli.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}
