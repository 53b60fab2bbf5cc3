package load

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readCPU returns the time that the driver's CPUs have been busy with
// anything, stolen time included, and their number: a CPU that somebody else
// keeps busy is as bad for the driver as one it keeps busy itself. Where the
// driver is not pinned, and the servers share its CPUs, it returns the
// driver's own CPU time (proc(5), getrusage(2)).
func readCPU() (time.Duration, int) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err == nil {
		online := runtimeCPUs()
		if n := allowed.Count(); n < online {
			if busy, err := busyCPUs(&allowed); err == nil {
				return busy, n
			}
		}
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, 0
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), runtime.GOMAXPROCS(0)
}

func runtimeCPUs() int {
	data, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return runtime.NumCPU()
	}
	total := 0
	for part := range strings.SplitSeq(strings.TrimSpace(string(data)), ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, _ := strconv.Atoi(first)
		b := a
		if ranged {
			b, _ = strconv.Atoi(last)
		}
		total += b - a + 1
	}
	return total
}

// busyCPUs adds up the ticks of /proc/stat, 10 ms each, other than idle and
// iowait.
func busyCPUs(cpus *unix.CPUSet) (time.Duration, error) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var ticks uint64
	found := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		var cpu int
		if len(fields) < 9 || fields[0] == "cpu" {
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "cpu%d", &cpu); err != nil || !cpus.IsSet(cpu) {
			continue
		}
		found = true
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
			if n, err := strconv.ParseUint(field, 10, 64); err == nil && i != 3 && i != 4 {
				ticks += n
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("/proc/stat: none of the driver's CPUs")
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
