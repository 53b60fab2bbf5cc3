package usage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lockcost/env"
)

// cpuTime is the processor time of a node that is a process of this machine's:
// of a container all its processes, where its control group tells.
func cpuTime(n env.Node) (time.Duration, bool) {
	if n.PID == 0 {
		return 0, false
	}
	if n.Container != "" {
		if used, ok := groupTime(n.PID); ok {
			return used, true
		}
	}
	used, err := env.CPUTime(n.PID)
	return used, err == nil
}

// groupTime is the processor time of the control group that a process is in,
// in version 2 or 1. Source: the kernel's documentation, "Control Group v2",
// cpu.stat, and "CPU Accounting Controller", cpuacct.usage.
func groupTime(pid int) (time.Duration, bool) {
	groups, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[2] == "/" {
			continue // the root's is everybody's
		}
		switch {
		case parts[1] == "":
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				if us, ok := statField(filepath.Join(root, parts[2], "cpu.stat"), "usage_usec"); ok {
					return time.Duration(us) * time.Microsecond, true
				}
			}
		case strings.Contains(","+parts[1]+",", ",cpuacct,"):
			text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", parts[1], parts[2], "cpuacct.usage"))
			if ns, errN := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && errN == nil {
				return time.Duration(ns), true
			}
		}
	}
	return 0, false
}

// statField is a field of a file of names and numbers.
func statField(path, field string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == field {
			n, err := strconv.ParseInt(value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
