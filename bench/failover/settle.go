package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lockcost/bench"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
)

// settle starts the ground that all trials share, describes the machine and
// the servers, and asks these for what the paths need.
func (r *runner) settle(ctx context.Context, provider env.Provider) (results.Environment, error) {
	g, err := r.layable(ctx, provider)
	if err != nil {
		return results.Environment{}, err
	}
	r.ground = g
	environment, err := bench.Describe(ctx, g.stack)
	if err == nil {
		err = r.askFor(ctx)
	}
	if err == nil {
		err = g.clear()
	}
	if err != nil {
		return environment, errors.Join(err, g.close())
	}
	return environment, nil
}

// spec is all that any trial starts.
func (p Plan) spec() env.Spec {
	spec := env.Spec{NoRedis: true}
	for _, path := range p.Paths {
		spec = spec.Merge(path.Needs(p.settings()))
	}
	if p.Uses(workloads.Redis) {
		spec = spec.Merge(env.Spec{Replicas: 1, Sentinels: p.Sentinels, DownAfter: p.DownAfter[0]})
	}
	spec.Ledger, spec.Pin = true, placement.Current().Pin()
	return spec
}

// layable lays the ground. Where the plan is lenient, what cannot be started is
// looked for, one lock service after the other, and done without.
func (r *runner) layable(ctx context.Context, provider env.Provider) (*ground, error) {
	g, err := lay(ctx, provider, r.plan.spec())
	if err == nil || !r.plan.Lenient || ctx.Err() != nil {
		return g, err
	}
	for _, service := range everyService {
		only := r.plan
		only.Paths = slices.DeleteFunc(slices.Clone(r.plan.Paths), func(p workloads.Path) bool { return p.Service() != service })
		if len(only.Paths) == 0 {
			continue
		}
		g, err := lay(ctx, provider, only.spec())
		if err == nil {
			err = g.close()
		}
		if err != nil {
			r.leaveOut(only.Paths, err)
		}
	}
	if len(r.plan.Paths) == 0 {
		return nil, err
	}
	return lay(ctx, provider, r.plan.spec())
}

// leaveOut has the plan do without paths.
func (r *runner) leaveOut(paths []workloads.Path, why error) {
	for _, path := range paths {
		r.plan.NotRun = append(r.plan.NotRun, fmt.Sprintf("path %s: %v", path.Label(), why))
	}
	r.plan.Paths = slices.DeleteFunc(slices.Clone(r.plan.Paths), func(p workloads.Path) bool {
		return slices.ContainsFunc(paths, func(out workloads.Path) bool { return out.Label() == p.Label() })
	})
	r.plan.Scenarios = chosen(r.plan.Scenarios, r.plan.Paths)
}

// askFor asks the servers for what each path needs beyond an answer, so that
// none of its trials is made in vain.
func (r *runner) askFor(ctx context.Context) error {
	settings := r.plan.settings()
	settings.Prefix, settings.Workers, settings.Ledger, settings.TTL = "lockcost:check:", 1, false, r.plan.TTL
	for _, path := range slices.Clone(r.plan.Paths) {
		err := serves(ctx, r.ground.stack, path, settings)
		switch {
		case err == nil:
		case r.plan.Lenient && ctx.Err() == nil:
			r.leaveOut([]workloads.Path{path}, err)
		default:
			return err
		}
	}
	if len(r.plan.Paths) == 0 {
		return errors.New("none of the paths can be run by these servers: " + r.plan.NotRun[0])
	}
	return nil
}

// serves checks that the servers have what the path needs.
func serves(ctx context.Context, stack *env.Stack, path workloads.Path, settings workloads.Settings) (err error) {
	if path.Synced() {
		if err := env.AppendFsync(ctx, stack, true); err != nil {
			return fmt.Errorf("path %s: %w", path.Label(), err)
		}
	}
	settings.Ledger = path.Guarded()
	settings.Tables = tablesPrefix
	session, err := path.Open(ctx, stack, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return path.Check(ctx, session, settings)
}
