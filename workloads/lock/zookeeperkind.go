package lock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// zooKeeperFailure is an error of the library with its kind.
func zooKeeperFailure(err error) error { return &serviceError{zooKeeperKind(err), err} }

// zooKeeperKind is the kind of an error of the library. What it does not know
// by name is a failure of the connection, as it hands those on as they are,
// unless the server sent it.
func zooKeeperKind(err error) string {
	var unsent *notConnected
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &unsent), errors.Is(err, zk.ErrNoServer):
		return "zookeeper-unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		return "zookeeper-timeout"
	case errors.Is(err, zk.ErrSessionExpired):
		return kindSessionLost
	case errors.Is(err, zk.ErrNoAuth):
		return "zookeeper-noperm"
	case errors.Is(err, zk.ErrAuthFailed):
		return "zookeeper-noauth"
	case zooKeeperRefused(err):
		return "zookeeper-error"
	}
	return "zookeeper-connection"
}

// zooKeeperRefused tells whether the server answered that it does not do what
// it was asked.
func zooKeeperRefused(err error) bool {
	for _, reply := range []error{
		zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals,
		zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrSessionExpired, zk.ErrInvalidACL, zk.ErrAuthFailed,
		zk.ErrSessionMoved, zk.ErrBadArguments, zk.ErrInvalidPath,
	} {
		if errors.Is(err, reply) {
			return true
		}
	}
	return false
}

// zooKeeperMayHaveWritten tells whether a request that failed may have been
// carried out, or may be yet.
func zooKeeperMayHaveWritten(err error) bool {
	var unsent *notConnected
	return !zooKeeperRefused(err) && !errors.Is(err, zk.ErrNoServer) && !errors.As(err, &unsent)
}
