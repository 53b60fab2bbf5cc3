package lock

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockcost/workloads/pool"
)

// refusals are the error codes with which Redis refuses a command or a whole
// script before it has written anything, and the kinds they are counted as.
// In a script they are raised at its first write or not at all
// (scriptVerifyWriteCommandAllow in Redis's script.c).
var refusals = map[string]string{
	"READONLY":    "redis-readonly",
	"NOREPLICAS":  "redis-noreplicas",
	"OOM":         "redis-oom",
	"LOADING":     "redis-loading",
	"MASTERDOWN":  "redis-masterdown",
	"CLUSTERDOWN": "redis-clusterdown",
	"MOVED":       "redis-moved",
	"MISCONF":     "redis-misconf",
	"BUSY":        "redis-busy",
	"NOAUTH":      "redis-noauth",
	"WRONGPASS":   "redis-noauth",
	"NOSCRIPT":    "redis-noscript",
}

// Kind is a short stable name for an error of a locker or a lease, to count
// it by: held, unreplicated, lost, mint, redlock-no-quorum, redlock-too-late,
// closed, pool-timeout, canceled, session-lost (there was no session to lock
// with), one that begins with etcd- or zookeeper- (etcdKind, zooKeeperKind),
// or one that begins with redis-: the server's own code (redis-readonly,
// redis-noreplicas, redis-noperm, redis-oom, redis-loading and others of
// its error codes), redis-error for any other reply, redis-timeout where
// there was none in time, redis-connection where the connection broke or
// could not be made. "" for nil, other for what no locker returns.
//
// Where finding out or undoing failed too, it names what failed first.
func Kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrHeld):
		return "held"
	case errors.Is(err, ErrUnreplicated):
		return "unreplicated"
	case errors.Is(err, ErrMint):
		return "mint"
	case errors.Is(err, ErrNoQuorum):
		return "redlock-no-quorum"
	case errors.Is(err, errTooLate):
		return "redlock-too-late"
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, ErrClosed):
		return "closed"
	case errors.Is(err, pool.ErrTimeout), errors.Is(err, redis.ErrPoolTimeout):
		return "pool-timeout"
	}
	var later *aftermath
	for errors.As(err, &later) {
		err = later.cause
	}
	var service *serviceError
	if errors.As(err, &service) {
		return service.kind
	}
	if code := replyCode(err); code != "" {
		return kindOfReply(code)
	}
	return kindOfSilence(err)
}

func kindOfReply(code string) string {
	if kind, ok := refusals[code]; ok {
		return kind
	}
	switch code {
	case "NOPERM":
		return "redis-noperm"
	case "UNBLOCKED":
		return "redis-unblocked"
	}
	return "redis-error"
}

// kindOfSilence is the kind of a failure that came with no reply.
func kindOfSilence(err error) string {
	var dial *dialError
	var network net.Error
	switch {
	case errors.As(err, &dial):
		return "redis-connection"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "redis-timeout"
	case errors.As(err, &network) && network.Timeout():
		return "redis-timeout"
	case errors.As(err, &network), errors.Is(err, net.ErrClosed), errors.Is(err, redis.ErrClosed),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "redis-connection"
	}
	return "other"
}

// replyCode is the first word of a server's error, "" if err is none. Before 7.0 an error from
// within a script had its code in the middle: "ERR Error running script
// (call to f_…): @user_script:2: -READONLY You can't write …".
func replyCode(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	code, rest, _ := strings.Cut(reply.Error(), " ")
	if code != "ERR" {
		return code
	}
	if _, inner, found := strings.Cut(rest, ": -"); found {
		code, _, _ = strings.Cut(inner, " ")
	}
	return code
}
