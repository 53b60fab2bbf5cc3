package external_test

import (
	"context"
	"database/sql"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process"
	"lockcost/env/process/processtest"

	"github.com/go-sql-driver/mysql"
)

// A ledger whose certificate a private CA has signed, with each of the
// driver's words for TLS.
func TestLedgerOverTLS(t *testing.T) {
	ca := processtest.NewAuthority(t, soon())
	another := processtest.NewAuthority(t, soon())
	cert, key := ca.Issue(t, soon(), "127.0.0.1")
	at := startLedger(t, "--ssl-cert="+cert, "--ssl-key="+key, "--ssl-ca="+ca.File)
	primary := processtest.Redis(t)
	given := func(setting string, ca string) external.Provider {
		return external.Provider{
			Redis: primary, Ledger: "u:" + secret + "@tcp(" + at + ")/lockcost" + setting, TLS: external.TLSFiles{CA: ca},
		}
	}
	for _, c := range []struct{ setting, ca string }{
		{"?tls=true", ca.File}, {"?tls=skip-verify", ""}, {"?tls=preferred", ""}, {"?charset=utf8mb4&tls=true", ca.File},
	} {
		s, err := given(c.setting, c.ca).Start(t.Context(), env.Spec{Ledger: true})
		if err != nil {
			t.Errorf("%s: %v", c.setting, err)
			continue
		}
		if servers, err := env.Inspect(t.Context(), s); err != nil || len(servers) != 2 {
			t.Errorf("%s: inspected %+v, %v", c.setting, servers, err)
		}
	}
	refused(t, given("?tls=true", ""), env.Spec{}, at, "does not know", "--tls-ca FILE")
	refused(t, given("?tls=true", another.File), env.Spec{}, at, "has not signed")
	refused(t, given("?tls=skip-verify", ca.File), env.Spec{}, "tls=true")

	own, ownKey := ca.Issue(t, soon()) // for Redis; this ledger has no CA to verify it with
	without := startLedger(t, "--ssl-cert="+cert, "--ssl-key="+key)
	p := external.Provider{Redis: primary, Ledger: "u@tcp(" + without + ")/lockcost?tls=true"}
	p.TLS = external.TLSFiles{CA: ca.File, Cert: own, Key: ownKey}
	if _, err := p.Start(t.Context(), env.Spec{Ledger: true}); err != nil {
		t.Error(err)
	}

	plain := startLedger(t)
	refused(t, external.Provider{Redis: primary, Ledger: "u@tcp(" + plain + ")/lockcost?tls=true"}, env.Spec{}, plain, "has no TLS")
}

// startLedger starts a MariaDB that lets everybody in, and makes a database.
func startLedger(t *testing.T, args ...string) (addr string) {
	t.Helper()
	program, err := exec.LookPath("mariadbd")
	if err != nil {
		processtest.Need(t, &process.MissingError{Program: "mariadbd", Package: "mariadb-server-core"})
	}
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	addr = nobody(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, append([]string{
		"--no-defaults", "--skip-grant-tables", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=16M",
		"--datadir=" + data, "--port=" + port, "--socket=" + filepath.Join(folder, "s"), "--user=root",
		"--log-error=" + filepath.Join(folder, "log"),
	}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	createDatabase(t, &mysql.Config{
		User: "u", Net: "tcp", Addr: addr, AllowNativePasswords: true, TLSConfig: "preferred",
		Logger: &mysql.NopLogger{},
	}, filepath.Join(folder, "log"))
	return addr
}

func createDatabase(t *testing.T, c *mysql.Config, log string) {
	t.Helper()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := db.ExecContext(ctx, "CREATE DATABASE lockcost")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(log)
			t.Fatalf("no ledger: %v\n%s", err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestLedgerThatAdmitsOnlyTLS(t *testing.T) {
	s := processtest.Start(t, env.Spec{Ledger: true})
	db, err := sql.Open("mysql", s.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "SET GLOBAL require_secure_transport = 1"); err != nil {
		t.Fatal(err)
	}
	refused(t, external.Provider{Redis: s.Redis.Primary, Ledger: s.Ledger}, env.Spec{}, "only over TLS", "tls=true")
}
