package env

import (
	"context"
	"errors"
)

// AppendFsync is pending: whoever writes it replaces this.
func AppendFsync(context.Context, *Stack, bool) error { return errors.New("not there yet") }
