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
	tailLines  = 8
	logTimeout = 5 * time.Second
)

// LogTail is part of assembly.Server.
func (s *server) LogTail() string {
	id := s.id()
	if id == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	r, err := s.runner.cli.ContainerLogs(ctx, id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(tailLines),
	})
	if err != nil {
		return ""
	}
	defer r.Close()
	var log bytes.Buffer
	_, _ = stdcopy.StdCopy(&log, &log, r) // as much as came
	text := strings.TrimSpace(log.String())
	if text == "" {
		return ""
	}
	return "; last lines of its log:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
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
