package results

import (
	"fmt"
	"slices"
	"strings"
)

// resourceRoles are the servers' roles, in the order in which they are shown,
// the driver first. Servers of one role are added up.
var resourceRoles = []string{DriverResources, "primary", "replica", "sentinel", "ledger", "independent", "etcd", "zookeeper"}

// RoleOf is the role of a server by its name: replica of replica-1.
func RoleOf(server string) string {
	role, _, _ := strings.Cut(server, "-")
	return role
}

// ResourcesByRole are means over the runs that count, by role: of the servers
// of one role the sums. A figure that one of them lacks in any run is nil.
func (p Path) ResourcesByRole() map[string]Resources {
	runs := slices.DeleteFunc(slices.Clone(p.Usable()), func(r Run) bool { return len(r.Resources) == 0 })
	if len(runs) == 0 {
		return nil
	}
	roles := map[string]Resources{}
	seen := map[string]bool{}
	for _, run := range runs {
		for _, server := range sortedKeys(run.Resources) {
			role := RoleOf(server)
			sum := roles[role]
			for i, to := range sum.figures() {
				from := *run.Resources[server].at(i)
				switch {
				case from == nil:
					*to = nil
				case !seen[role]:
					*to = pointer(*from / float64(len(runs)))
				case *to != nil:
					*to = pointer(**to + *from/float64(len(runs)))
				}
			}
			seen[role], roles[role] = true, sum
		}
	}
	return roles
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// figures are the places of what is counted, in a fixed order.
func (r *Resources) figures() []**float64 {
	return []**float64{&r.CPUNS, &r.BytesIn, &r.BytesOut, &r.Commands, &r.ReplicationBytes, &r.Fsyncs}
}

func (r Resources) at(i int) **float64 { return r.figures()[i] }

// resources are what operations of each path take, by role.
func (t *table) resources() {
	t.resourceBlock("CPU time of each operation, warm-up included", func(r Resources) string { return durationOf(r.CPUNS) })
	t.resourceBlock("Bytes received + sent for each operation", func(r Resources) string {
		if r.BytesIn == nil || r.BytesOut == nil {
			return ""
		}
		return fmt.Sprintf("%.0f + %.0f", *r.BytesIn, *r.BytesOut)
	})
	t.resourceBlock("Commands, and syncs to a disk, for each operation", func(r Resources) string {
		text := ""
		if r.Commands != nil && *r.Commands >= 0.05 {
			text = fmt.Sprintf("%.1f", *r.Commands)
		}
		if r.Fsyncs != nil && *r.Fsyncs >= 0.05 {
			text += fmt.Sprintf(", %.1f", *r.Fsyncs)
		}
		return text
	})
	t.held()
}

func durationOf(ns *float64) string {
	if ns == nil {
		return ""
	}
	return FormatDuration(round(*ns))
}

func (t *table) resourceBlock(title string, cell func(Resources) string) {
	rows := columns{append([]string{"path"}, resourceRoles...)}
	for _, p := range t.record.Paths {
		roles := p.ResourcesByRole()
		if roles == nil {
			continue
		}
		row := []string{p.Label()}
		for _, role := range resourceRoles {
			text := ""
			if r, ok := roles[role]; ok {
				text = cell(r)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		t.title(title)
		t.print(rows.withoutEmpty().lines())
	}
}

// held is the memory of held locks, and the connections in use.
func (t *table) held() {
	rows := columns{{"path", "a held lock takes", "lock connections in use", "ledger's"}}
	for _, p := range t.record.Paths {
		var sizes []string
		for _, server := range sortedKeys(p.HeldLockBytes) {
			if RoleOf(server) == server || strings.HasSuffix(server, "-1") {
				sizes = append(sizes, fmt.Sprintf("%.0f bytes on %s", p.HeldLockBytes[server], server))
			}
		}
		row := []string{p.Label(), strings.Join(sizes, ", "), p.inUse(LockPool), p.inUse(LedgerPool)}
		if strings.Join(row[1:], "") != "" {
			rows = append(rows, row)
		}
	}
	if len(rows) > 1 {
		t.title("Memory of a held lock, and connections in use: mean, P99.9 of the worst run, and all there are")
		t.print(rows.withoutEmpty().lines())
	}
}

// inUse is the use of a pool's connections over the runs that count.
func (p Path) inUse(pool string) string {
	var mean float64
	var high *int
	n, size := 0, 0
	for _, run := range p.Usable() {
		c, ok := run.Connections[pool]
		if !ok {
			continue
		}
		mean, size, n = mean+c.Mean, c.Pool, n+1
		if c.P999 != nil && (high == nil || *c.P999 > *high) {
			high = c.P999
		}
	}
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f", mean/float64(n))
	if mean/float64(n) < 1 {
		text = fmt.Sprintf("%.2f", mean/float64(n))
	}
	if high != nil {
		text += fmt.Sprintf(", %d", *high)
	}
	return fmt.Sprintf("%s of %d", text, size)
}
