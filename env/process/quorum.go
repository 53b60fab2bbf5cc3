package process

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"lockcost/env"
	"lockcost/env/assembly"
)

// internalPorts is how many ports a server has for others of its kind.
var internalPorts = map[env.Kind]int{env.KindEtcd: 1, env.KindZooKeeper: 2}

// placeInternal gives v its ports for other servers of its kind.
func (r *runner) placeInternal(v *server) error {
	for range internalPorts[v.kind] {
		port, err := r.freePort()
		if err != nil {
			return err
		}
		v.internal = append(v.internal, assembly.Loopback(port))
	}
	return nil
}

// portTries bounds how often a port is drawn that the stack has already.
const portTries = 100

// freePort is a port that no other server of the stack has: those that are
// placed do not listen yet.
func (r *runner) freePort() (int, error) {
	for range portTries {
		port, err := r.port()
		if err != nil {
			return 0, err
		}
		if !slices.Contains(r.ports, port) {
			r.ports = append(r.ports, port)
			return port, nil
		}
	}
	return 0, fmt.Errorf("%d ports were drawn in a row that the stack has already", portTries)
}

// portsAreFree checks the ports for other servers of v's kind. ZooKeeper takes
// one of them only once it leads, and goes on without it.
func (v *server) portsAreFree() error {
	for _, addr := range v.internal {
		l, err := net.Listen("tcp4", addr)
		if err != nil {
			return fmt.Errorf("its internal address %s: %w: %w", addr, assembly.ErrPortTaken, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func etcdArgs(v *server) []string { return []string{"--config-file", v.File()} }

func (v *server) etcdDirectives() string {
	return fmt.Sprintf("data-dir: %q\nlisten-client-urls: http://%s\nlisten-peer-urls: http://%s\n",
		filepath.Join(v.dir, "data"), v.addr(), v.internal[0])
}

func (v *server) zooDirectives() string {
	return fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n", v.dir, v.port)
}

// heap is that of each ZooKeeper. Java's own default is a quarter of the
// machine's memory for each of them; a lock service holds a few hundred nodes,
// and a heap that does not grow is not grown in the measured time.
const heap = "256m"

func zooArgs(v *server, classPath []string) []string {
	return []string{
		"-Xms" + heap, "-Xmx" + heap,
		"-XX:-UsePerfData",          // a file in /tmp, which a JVM that is killed leaves
		"-Djava.io.tmpdir=" + v.dir, // and so with native libraries
		// As of etcd: a line for each session would be written in the measured time.
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", strings.Join(classPath, string(filepath.ListSeparator)),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", v.File(),
	}
}

// zookeeper is a server of ZooKeeper.
type zookeeper struct{ *server }

// Start is part of assembly.Server.
func (v *zookeeper) Start(ctx context.Context, text string) error {
	number := v.name[strings.LastIndexByte(v.name, '-')+1:]
	if err := v.write(filepath.Join(v.dir, "myid"), number+"\n"); err != nil {
		return err
	}
	return v.server.Start(ctx, text)
}
