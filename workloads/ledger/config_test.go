package ledger

import (
	"strings"
	"testing"
	"time"
)

func TestConfigSetsWhatTheGuardsRelyOn(t *testing.T) {
	cfg, err := Config("bench:secret@tcp(127.0.0.1:3306)/lockcost?parseTime=true&multiStatements=true&autocommit=0&readTimeout=7s")
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.InterpolateParams || cfg.ParseTime || cfg.MultiStatements || cfg.ClientFoundRows {
		t.Errorf("interpolateParams %v parseTime %v multiStatements %v clientFoundRows %v, want only the first",
			cfg.InterpolateParams, cfg.ParseTime, cfg.MultiStatements, cfg.ClientFoundRows)
	}
	if got := cfg.Params["autocommit"]; got != "1" {
		t.Errorf("autocommit = %q, want 1", got)
	}
	if cfg.Timeout != dialTimeout || cfg.WriteTimeout != ioTimeout || cfg.ReadTimeout != 7*time.Second {
		t.Errorf("timeouts: dial %v, write %v, read %v; want the defaults, and the name's own 7s for reading",
			cfg.Timeout, cfg.WriteTimeout, cfg.ReadTimeout)
	}
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct{ dsn, want string }{
		{"bench:secret@tcp(127.0.0.1:3306)/lockcost?clientFoundRows=true", "clientFoundRows"},
		{"bench:secret@tcp(127.0.0.1:3306)/lockcost?clientFoundRows=1", "remove it"},
		{"bench:secret@tcp(127.0.0.1:3306)/", "no database"},
		{"bench:secret@tcp(127.0.0.1:3306)", "slash"},
		{"bench:secret@tcp(127.0.0.1:3306/lockcost", "closing brace"},
		{"bench:secret/lockcost", "expected user:password@tcp(host:3306)/database"},
		{"mysql://bench:secret@127.0.0.1:3306/lockcost", "expected user:password@tcp(host:3306)/database"},
		{"bench:secret@tcp(127.0.0.1:3306)/lockcost?parseTime=secret", "malformed"},
		{"bench:secret@tcp(127.0.0.1:3306)/lockcost?collation=gbk_chinese_ci", "collation"},
		{"", "slash"},
	} {
		_, err := Config(c.dsn)
		if err == nil {
			t.Errorf("Config(%q): no error", c.dsn)
			continue
		}
		checkMessage(t, err, c.want)
	}
}

// checkMessage wants an error of one line that contains want and no password.
func checkMessage(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", want)
		return
	}
	if text := err.Error(); !strings.Contains(text, want) {
		t.Errorf("error %q, want it to contain %q", text, want)
	} else if strings.Contains(text, "\n") {
		t.Errorf("error of more than one line: %q", text)
	} else if strings.Contains(text, "secret") {
		t.Errorf("error with the password: %q", text)
	}
}
