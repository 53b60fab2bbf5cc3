package container

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// The labels of what belongs to a stack.
const (
	labelStack   = "lockcost.stack"   // the stack's id
	labelMachine = "lockcost.machine" // who sees its lock file
	labelLock    = "lockcost.lock"    // the path of its lock file
)

// Clean removes the containers, volumes and networks of stacks whose drivers
// have died on this machine, and returns the number of those stacks. Where
// there is no engine the error is an *UnavailableError.
func Clean(ctx context.Context) (removed int, err error) {
	cli, err := find(ctx)
	if err != nil {
		return 0, err
	}
	defer cli.Close()
	return sweep(ctx, cli, func(string) {})
}

// sweep is Clean with an engine. What belongs to a driver that lives, be it
// one that is just starting, is left alone: a driver holds its lock before it
// makes anything, and here the lock is tried after what there is was listed.
func sweep(ctx context.Context, cli *client.Client, progress func(string)) (int, error) {
	dir, err := lockFolder()
	if err != nil {
		return 0, err
	}
	m, err := machine(dir)
	if err != nil {
		return 0, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	stacks, err := list(ctx, cli, ours(m))
	if err != nil {
		return 0, answered(ctx, err)
	}
	n, errs := 0, []error(nil)
	for id, path := range stacks {
		if path != lockPath(dir, id) {
			continue // not of our making
		}
		release, ok := abandoned(path)
		if !ok {
			continue
		}
		progress(fmt.Sprintf("removing the containers of stack %s, whose driver has died", id))
		err := remove(ctx, cli, m, id)
		release()
		if errs = append(errs, err); err == nil {
			n++
		}
	}
	forget(dir)
	return n, errors.Join(errs...)
}

// ours selects what is of this machine.
func ours(machine string) client.Filters {
	return make(client.Filters).Add("label", labelMachine+"="+machine)
}

// forget removes the lock files of drivers that died before they made
// anything, or whose containers the reaper has removed.
func forget(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"+lockSuffix))
	for _, f := range files {
		if release, ok := abandoned(f); ok {
			release()
		}
	}
}

// list returns the ids of stacks of which the filter finds anything, and the
// paths of their lock files.
func list(ctx context.Context, cli *client.Client, filter client.Filters) (map[string]string, error) {
	stacks := map[string]string{}
	add := func(labels map[string]string) {
		if id := labels[labelStack]; id != "" {
			stacks[id] = labels[labelLock]
		}
	}
	containers, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("listing containers: %w", err)
	}
	for _, c := range containers.Items {
		add(c.Labels)
	}
	networks, err := cli.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("listing networks: %w", err)
	}
	for _, n := range networks.Items {
		add(n.Labels)
	}
	volumes, err := cli.VolumeList(ctx, client.VolumeListOptions{Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("listing volumes: %w", err)
	}
	for _, v := range volumes.Items {
		add(v.Labels)
	}
	return stacks, nil
}

const (
	removeAttempts = 10
	removeInterval = 300 * time.Millisecond
)

// remove removes all that there is of a machine's stack. What the engine is
// still busy with, such as a container whose start was broken off, is tried
// again.
func remove(ctx context.Context, cli *client.Client, machine, stack string) error {
	filter := ours(machine).Add("label", labelStack+"="+stack)
	for attempt := 1; ; attempt++ {
		err := tryRemove(ctx, cli, filter)
		if err == nil || attempt == removeAttempts || ctx.Err() != nil {
			return err
		}
		time.Sleep(removeInterval)
	}
}

// tryRemove is one attempt. What somebody else is removing at the same time is
// none of its errors.
func tryRemove(ctx context.Context, cli *client.Client, filter client.Filters) error {
	containers, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	errs := make([]error, len(containers.Items))
	var wg sync.WaitGroup
	for i, c := range containers.Items {
		wg.Go(func() {
			_, err := cli.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			errs[i] = left("container", c.ID, err)
		})
	}
	wg.Wait()
	networks, err := cli.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	errs = append(errs, err)
	for _, n := range networks.Items {
		_, err := cli.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		errs = append(errs, left("network", n.Name, err))
	}
	volumes, err := cli.VolumeList(ctx, client.VolumeListOptions{Filters: filter})
	errs = append(errs, err)
	for _, v := range volumes.Items {
		_, err := cli.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true})
		errs = append(errs, left("volume", v.Name, err))
	}
	return errors.Join(errs...)
}

// left is the error of what could not be removed and is still there.
func left(kind, name string, err error) error {
	if err == nil || errdefs.IsNotFound(err) || strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return fmt.Errorf("removing %s %.12s: %w", kind, name, err)
}
