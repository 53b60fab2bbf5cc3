package container

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

const (
	tailLines = 8
	lineBytes = 400
	// endLines is how many are looked through for why a server ended: a line
	// may be followed by the stack of a Java thread.
	endLines   = 100
	logTimeout = 5 * time.Second
)

// LogTail is part of assembly.Server.
func (s *server) LogTail() string { return tailOf(s.logEnd()) }

// tailOf is the tail of a log's last lines.
func tailOf(text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > lineBytes { // etcd's carry whole stacks
			lines[i] = line[:lineBytes] + " …"
		}
	}
	return "; last lines of its log:\n  " + strings.Join(lines, "\n  ")
}

// logEnd is the last lines of the server's log; "" where there are none.
func (s *server) logEnd() string {
	id := s.id()
	if id == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	r, err := s.runner.cli.ContainerLogs(ctx, id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(endLines),
	})
	if err != nil {
		return ""
	}
	defer r.Close()
	var log bytes.Buffer
	_, _ = stdcopy.StdCopy(&log, &log, r) // as much as came
	return strings.TrimSpace(log.String())
}

// bindFailures is what servers and engines say when a port is somebody else's.
var bindFailures = []string{
	"Address already in use", "Failed listening on port", // servers
	"address already in use", "port is already allocated", "ports are not available", // engines
}

func portTaken(text string) bool {
	for _, f := range bindFailures {
		if strings.Contains(text, f) {
			return true
		}
	}
	return false
}

// localPID returns pid where it is a process of this machine's in that
// container, and 0 where the engine counts processes of another.
func localPID(pid int, container string) int {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil || !bytes.Contains(groups, []byte(container)) {
		return 0
	}
	return pid
}
