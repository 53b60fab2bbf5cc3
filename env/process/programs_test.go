package process

import (
	"errors"
	"os"
	"testing"

	"lockcost/env"
)

// need is processtest.Need, which this package cannot import.
func need(t *testing.T, spec env.Spec) {
	t.Helper()
	_, err := find(spec, "")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for program, pkg := range map[string]string{"redis-server": "redis-server", "mariadbd": "mariadb-server-core"} {
		_, err := lookIn(nil, program, pkg)
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Program != program {
			t.Errorf("without %s: %v", program, err)
			continue
		}
		if want := program + " is not installed: apt-get install " + pkg + " (or make deps)"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestProgramBesideThePathIsFound(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/mariadbd", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := lookIn([]string{dir}, "mariadbd", "mariadb-server-core"); path != dir+"/mariadbd" {
		t.Errorf("found %q, %v", path, err)
	}
}
