package lock

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// etcdFailure is an error of the library with its kind.
func etcdFailure(err error) error { return &serviceError{etcdKind(err), err} }

// etcdKind is the kind of an error of the library. The servers' own time-outs
// come as Unavailable.
func etcdKind(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "etcd-timeout"
	case etcdLeaseGone(err):
		return kindSessionLost
	case errors.Is(err, rpctypes.ErrTimeout), errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail),
		errors.Is(err, rpctypes.ErrTimeoutDueToConnectionLost), errors.Is(err, rpctypes.ErrTimeoutWaitAppliedIndex):
		return "etcd-timeout"
	case errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrLeaderChanged), errors.Is(err, rpctypes.ErrNotLeader):
		return "etcd-no-leader"
	case errors.Is(err, rpctypes.ErrNoSpace):
		return "etcd-no-space"
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return "etcd-noperm"
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		return "etcd-noauth"
	}
	switch etcdCode(err) {
	case codes.Canceled:
		return "canceled"
	case codes.DeadlineExceeded:
		return "etcd-timeout"
	case codes.Unavailable:
		return "etcd-unavailable"
	case codes.PermissionDenied:
		return "etcd-noperm"
	case codes.Unauthenticated:
		return "etcd-noauth"
	}
	return "etcd-error"
}

// etcdLeaseGone tells whether the cluster answered that it does not have the
// lease.
func etcdLeaseGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// etcdCode is the gRPC code of an error of the library.
func etcdCode(err error) codes.Code {
	var own rpctypes.EtcdError
	if errors.As(err, &own) {
		return own.Code()
	}
	return status.Code(err)
}

// etcdMayHaveWritten tells whether a request that failed may have been
// carried out, or may be yet: all but what was refused, and what was never
// sent because there was no connection.
func etcdMayHaveWritten(err error) bool {
	switch etcdKind(err) {
	case kindSessionLost, "etcd-noperm", "etcd-noauth", "etcd-no-space":
		return false
	}
	switch etcdCode(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.ResourceExhausted, codes.NotFound, codes.Unimplemented:
		return false
	case codes.Unavailable:
		return !strings.Contains(strings.ToLower(err.Error()), "error while dialing")
	}
	return true
}
