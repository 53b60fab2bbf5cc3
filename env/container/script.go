package container

import (
	_ "embed"
	"strconv"
	"strings"

	"lockcost/env"
	"lockcost/env/assembly"
)

// The scripts run as the containers' entrypoints, so that nothing depends on
// what an image's own does. Each ends by becoming the server.
//
//go:embed redis.sh
var redisScript string

//go:embed ledger.sh
var ledgerScript string

const (
	// textVariable carries a server's text into its container. An argument
	// would show the ledger's password to every user of the machine.
	textVariable = "LOCKCOST_TEXT"
	// programMissing is a script's exit status when the image has not the
	// server it is to run.
	programMissing = 96
)

// programs is what an image must have one of, for error messages.
func programs(k env.Kind) string {
	if k == env.KindLedger {
		return "mariadbd or mysqld"
	}
	return "redis-server or valkey-server"
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
	case env.KindSentinel:
		return run(redisScript, s.File(), "--sentinel")
	default:
		return run(redisScript, s.File())
	}
}

// volume is where the server's data is: where the official images declare a
// volume themselves, which would otherwise be made besides.
func volume(k env.Kind) string {
	if k == env.KindLedger {
		return "/var/lib/mysql"
	}
	return "/data"
}

// cpus is a list of CPUs as the engine reads it.
func cpus(pin []int) string {
	var list []string
	for _, c := range pin {
		list = append(list, strconv.Itoa(c))
	}
	return strings.Join(list, ",")
}
