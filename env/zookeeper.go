package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Ask asks the server at addr by one of ZooKeeper's four-letter words, such as
// srvr, and returns its reply. A word that is not in the server's
// 4lw.commands.whitelist is an error; srvr is in it by default. ctx bounds it,
// and so does 3 s.
//
// Source: ZooKeeper's administrator's guide, "The Four Letter Words".
func (z ZooKeeper) Ask(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(c, word); err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	text, err := io.ReadAll(io.LimitReader(c, replyBytes))
	if err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	if strings.Contains(string(text), "not in the whitelist") {
		return "", fmt.Errorf("%s: %w", word, errNotListed)
	}
	return string(text), nil
}

// errNotListed is why a server does not answer a four-letter word.
var errNotListed = errors.New("it is not in the server's 4lw.commands.whitelist")

var errNotServing = errors.New("it does not serve")

// NoQuorum tells whether an error of Mode is of a ZooKeeper that runs and has
// no majority to serve with.
func NoQuorum(err error) bool { return errors.Is(err, errNotServing) }

// Mode is what the server at addr says it is: leader, follower, observer or
// standalone. One that has no quorum is none of these: see NoQuorum.
func (z ZooKeeper) Mode(ctx context.Context, addr string) (string, error) {
	fields, err := z.srvr(ctx, addr)
	if err != nil {
		return "", err
	}
	if fields[""] == "" && fields["Mode"] == "" {
		return "", errors.New("srvr: its reply is none of ZooKeeper's")
	}
	if fields["Mode"] == "" {
		return "", fmt.Errorf("%w: it says %q", errNotServing, fields[""])
	}
	return fields["Mode"], nil
}

// srvr is the fields of a server's reply to srvr, and under "" its first line
// without one.
func (z ZooKeeper) srvr(ctx context.Context, addr string) (map[string]string, error) {
	text, err := z.Ask(ctx, addr, "srvr")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, ": ")
		if !ok && fields[""] == "" {
			fields[""] = line
		}
		if ok {
			fields[key] = value
		}
	}
	return fields, nil
}

// Conf is the settings that the server at addr runs with, by its reply to
// conf.
func (z ZooKeeper) Conf(ctx context.Context, addr string) (map[string]string, error) {
	text, err := z.Ask(ctx, addr, "conf")
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	return settings, nil
}
