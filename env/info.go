package env

import "strings"

// ParseInfo reads a reply of Redis's INFO, of any sections, into its fields.
func ParseInfo(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}

// OnlineReplicas counts, in the fields of a primary's INFO, the replicas that
// can acknowledge a write: those WAIT counts. One that still loads its first
// copy is connected and counts for nothing.
func OnlineReplicas(info map[string]string) int {
	online := 0
	for name, value := range info {
		if isReplica(name) && strings.Contains(","+value+",", ",state=online,") {
			online++
		}
	}
	return online
}

// isReplica tells fields named slave0, slave1 and so on from others such as
// slave_repl_offset.
func isReplica(name string) bool {
	number, found := strings.CutPrefix(name, "slave")
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}
