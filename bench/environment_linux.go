package bench

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lockcost/results"
)

func onlineCPUs() int {
	if n, err := strconv.Atoi(cpuinfo()["processor"]); err == nil {
		return n + 1 // the last one's number
	}
	return runtime.NumCPU()
}

func describeMachine(e *results.Environment) {
	cpu := cpuinfo()
	e.CPU = cpu["model name"]
	if strings.Contains(" "+cpu["flags"]+" ", " hypervisor ") {
		e.Virtual = firstLine("/sys/class/dmi/id/sys_vendor", "a hypervisor")
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		e.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		e.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	e.ClockSource = firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource", "unknown")
}

// cpuinfo is /proc/cpuinfo by key, the last CPU's where they differ.
func cpuinfo() map[string]string {
	values := map[string]string{}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return values
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok {
			values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return values
}

func firstLine(path, otherwise string) string {
	data, err := os.ReadFile(path)
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if err != nil || line == "" {
		return otherwise
	}
	return line
}
