package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockcost/env"
)

func TestHomeThatIsNotOursAloneIsRefused(t *testing.T) {
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	open, file, link, foreign := at("open"), at("file"), at("link"), at("foreign")
	for _, err := range []error{
		os.Mkdir(open, 0o700), os.Chmod(open, 0o750), os.WriteFile(file, nil, 0o600),
		os.Symlink(t.TempDir(), link), os.Mkdir(foreign, 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]string{open: "yours alone", file: "no folder", link: "no folder"}
	if os.Geteuid() == 0 {
		if err := os.Chown(foreign, 1, 1); err != nil {
			t.Fatal(err)
		}
		cases[foreign] = "another user's"
	}
	for path, want := range cases {
		_, find := At(path).Find(t.Context())
		_, up := At(path).Up(t.Context(), Options{Detached: true})
		for _, err := range []error{find, up} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
			}
		}
	}
}

// A killed supervisor's number may be another process's by now.
func TestStrangerOfTheSameNumberIsSpared(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stranger.Wait() }()
	h := At(filepath.Join(t.TempDir(), "state"))
	precious := t.TempDir()
	for _, err := range []error{
		os.Mkdir(h.path, 0o700), h.write(State{PID: stranger.Process.Pid, Ready: true, Folder: precious}),
		os.WriteFile(h.file(lockFile), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var stale *StaleError
	if _, err := h.Down(t.Context()); !errors.As(err, &stale) {
		t.Errorf("%v", err)
	}
	if err := stranger.Process.Kill(); err != nil {
		t.Errorf("the stranger: %v", err)
	}
	if how := (<-ended).Error(); how != "signal: killed" {
		t.Errorf("the stranger ended by another hand: %s", how)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a folder that is no stack's: %v", err)
	}
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	for _, text := range []string{`{"supervisor_pid": 1`, `{"supervisor_pid": 1}`, ``} {
		h := At(filepath.Join(t.TempDir(), "state"))
		if err := os.Mkdir(h.path, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{stateFile: text, lockFile: "mine"} {
			if err := os.WriteFile(h.file(name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Find(t.Context()); err == nil || !strings.Contains(err.Error(), h.file(stateFile)) {
			t.Errorf("a state %q: %v", text, err)
		}
		if err := os.Remove(h.file(stateFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Find(t.Context()); !errors.Is(err, ErrNone) {
			t.Errorf("no state: %v", err)
		}
		if _, err := os.Stat(h.file(lockFile)); err != nil {
			t.Error(err)
		}
	}
}

func TestShellReadsTheExports(t *testing.T) {
	const ledger = `user:it's "$HOME" & more@tcp(h:1)/d`
	s := State{Ready: true, Ledger: ledger, Servers: []Server{{Name: "primary", Kind: env.KindRedis, Address: "h:2"}}}
	text := new(strings.Builder)
	if err := (Status{State: s, Checks: []Check{{Server: s.Servers[0], Err: errors.New("it's down")}}}).WriteText(text); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-euc", `eval "$1"; printf '%s %s %s' "$LOCKCOST_REDIS" "${LOCKCOST_SENTINEL-none}" "$LOCKCOST_LEDGER"`, "sh", text.String())
	shell.Env = append(os.Environ(), "LOCKCOST_SENTINEL=of-before")
	out, err := shell.CombinedOutput()
	if want := "h:2 none " + ledger; err != nil || string(out) != want {
		t.Errorf("the shell has %q, want %q: %v", out, want, err)
	}
}
