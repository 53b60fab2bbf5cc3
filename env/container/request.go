package container

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"lockcost/env"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	mobynetwork "github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
)

// request describes the server's container. What the image declares is kept,
// but for what it would run.
func (s *server) request(text string) testcontainers.ContainerRequest {
	r := testcontainers.ContainerRequest{
		Image:              s.image,
		Name:               s.runner.name(s.name),
		Entrypoint:         s.entrypoint(),
		Labels:             s.runner.labels(),
		ExposedPorts:       []string{s.exposed().String()}, // these and not the image's
		ConfigModifier:     asRoot,
		HostConfigModifier: s.host,
	}
	if s.kind == env.KindEtcd { // which no script starts that could write it
		r.Files = []testcontainers.ContainerFile{{Reader: strings.NewReader(text), ContainerFilePath: s.File(), FileMode: 0o644}}
	} else {
		r.Env = map[string]string{textVariable: text}
	}
	if s.ip.IsValid() {
		r.Networks = []string{s.runner.network.name}
		r.EndpointSettingsModifier = func(endpoints map[string]*mobynetwork.EndpointSettings) {
			endpoints[s.runner.network.name].IPAMConfig = &mobynetwork.EndpointIPAMConfig{IPv4Address: s.ip}
		}
	}
	return r
}

func asRoot(c *container.Config) {
	c.User = "0"
	c.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}} // nothing else is to run beside the server
}

// host says where the server's data is, on which CPUs it runs and how it is
// reached.
func (s *server) host(c *container.HostConfig) {
	c.Mounts = []mount.Mount{{
		// Not in the image's own layers, which may be slow and not durable.
		Type:   mount.TypeVolume,
		Target: volume(s.kind),
		VolumeOptions: &mount.VolumeOptions{
			NoCopy: true,
			Labels: s.runner.labels(),
		},
	}}
	c.CpusetCpus = cpus(s.runner.pin)
	if !s.ip.IsValid() {
		c.NetworkMode = "host"
		return
	}
	c.PortBindings = mobynetwork.PortMap{s.exposed(): {{
		HostIP:   netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		HostPort: strconv.Itoa(s.port),
	}}}
}

func (s *server) exposed() mobynetwork.Port {
	return mobynetwork.MustParsePort(fmt.Sprintf("%d/tcp", s.port))
}
