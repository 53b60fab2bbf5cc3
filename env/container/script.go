package container

import (
	_ "embed"
	"strconv"
	"strings"

	"lockcost/env"
	"lockcost/env/assembly"
)

// The scripts run as the containers' entrypoints, so that nothing depends on
// what an image's own does. Each ends by becoming the server. etcd has none:
// its official image has no shell.
//
//go:embed redis.sh
var redisScript string

//go:embed ledger.sh
var ledgerScript string

//go:embed zookeeper.sh
var zooKeeperScript string

const (
	// textVariable carries a server's text into its container. An argument
	// would show the ledger's password to every user of the machine.
	textVariable = "LOCKCOST_TEXT"
	// javaMissing and programMissing are a script's exit statuses when the
	// image has no Java, and when it has not the server that it is to run.
	javaMissing    = 95
	programMissing = 96
)

const etcdProgram = "etcd"

// programs is what an image must have one of, for error messages.
func programs(k env.Kind) string {
	switch k {
	case env.KindLedger:
		return "mariadbd or mysqld"
	case env.KindEtcd:
		return etcdProgram
	case env.KindZooKeeper:
		return "zookeeper.jar (Debian's in /usr/share/java, or one in /apache-zookeeper-*/lib)"
	default:
		return "redis-server or valkey-server"
	}
}

// entrypoint is the command that runs the server.
func (s *server) entrypoint() []string {
	run := func(script string, args ...string) []string {
		return append([]string{"sh", "-c", script, "lockcost"}, args...)
	}
	switch s.kind {
	case env.KindLedger:
		return run(ledgerScript, s.folder,
			"--bind-address="+s.listen(), "--port="+strconv.Itoa(s.port),
			"--skip-name-resolve", "--max-connections="+strconv.Itoa(assembly.MaxConnections))
	case env.KindEtcd:
		return []string{etcdProgram, "--config-file", s.File()}
	case env.KindZooKeeper:
		return run(zooKeeperScript, s.File(), s.number())
	case env.KindSentinel:
		return run(redisScript, s.File(), "--sentinel")
	default:
		return run(redisScript, s.File())
	}
}

// number is N where the server's name ends in -N.
func (s *server) number() string { return s.name[strings.LastIndex(s.name, "-")+1:] }

// volume is where the server's data is: where the official images declare a
// volume themselves, which would otherwise be made besides, or have a folder
// for it.
func volume(k env.Kind) string {
	switch k {
	case env.KindLedger:
		return "/var/lib/mysql"
	case env.KindEtcd:
		return "/var/lib/etcd"
	default:
		return "/data"
	}
}

// cpus is a list of CPUs as the engine reads it.
func cpus(pin []int) string {
	var list []string
	for _, c := range pin {
		list = append(list, strconv.Itoa(c))
	}
	return strings.Join(list, ",")
}
