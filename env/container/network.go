package container

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	mobynetwork "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// networkAttempts bounds how often a network is made anew because somebody
// else was faster to take its addresses.
const networkAttempts = 10

// network is a stack's own.
type network struct {
	name   string
	subnet netip.Prefix
	last   netip.Addr // given out last
}

// openNetwork makes the stack's network. A server that is killed and started
// again must have its old address, and the engine lets addresses be chosen
// only where the subnet was: so the engine chooses one first.
func (r *runner) openNetwork(ctx context.Context) error {
	var err error
	for range networkAttempts {
		var subnet netip.Prefix
		if subnet, err = r.freeSubnet(ctx); err != nil {
			break
		}
		name := r.name("network")
		if _, err = r.createNetwork(ctx, name, &mobynetwork.IPAM{Config: []mobynetwork.IPAMConfig{{Subnet: subnet}}}); err == nil {
			// The first address after the subnet's own is the gateway's.
			r.network = &network{name: name, subnet: subnet, last: subnet.Masked().Addr().Next()}
			return nil
		}
	}
	return fmt.Errorf("making a network for the stack: %w", err)
}

// freeSubnet returns a subnet that the engine holds to be free.
func (r *runner) freeSubnet(ctx context.Context) (netip.Prefix, error) {
	id, err := r.createNetwork(ctx, r.name("probe"), nil)
	if err != nil {
		return netip.Prefix{}, err
	}
	found, err := r.cli.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	_, removed := r.cli.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err := errors.Join(err, removed); err != nil {
		return netip.Prefix{}, err
	}
	for _, c := range found.Network.IPAM.Config {
		if c.Subnet.IsValid() && c.Subnet.Addr().Is4() {
			return c.Subnet, nil
		}
	}
	return netip.Prefix{}, errors.New("the engine gives it no IPv4 addresses")
}

func (r *runner) createNetwork(ctx context.Context, name string, ipam *mobynetwork.IPAM) (id string, err error) {
	made, err := r.cli.NetworkCreate(ctx, name, client.NetworkCreateOptions{Driver: "bridge", IPAM: ipam, Labels: r.labels()})
	return made.ID, err
}

// address returns an address that no other server has.
func (n *network) address() (netip.Addr, error) {
	n.last = n.last.Next()
	if !n.subnet.Contains(n.last.Next()) { // the last one is for broadcasts
		return netip.Addr{}, fmt.Errorf("the network's %v has no address left", n.subnet)
	}
	return n.last, nil
}
