package ledger

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// change returns the data source name after edit.
func change(t *testing.T, dsn string, edit func(*mysql.Config)) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	edit(cfg)
	return cfg.FormatDSN()
}

// nobodyListens returns an address that refuses connections.
func nobodyListens(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// speaks returns the address of a server that greets with text, and hangs up.
func speaks(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, text)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// What stands in the way is said in one line before anything runs, by
// whichever of the two comes first.
func TestObstacles(t *testing.T) {
	dsn := startLedger(t)
	for _, c := range []struct {
		name string
		edit func(*mysql.Config)
		want string
	}{
		{"unreachable", func(c *mysql.Config) { c.Addr = nobodyListens(t) }, "unreachable"},
		{"no MySQL", func(c *mysql.Config) { c.Addr = speaks(t, "-ERR unknown command\r\n") }, "ledger at 127.0.0.1:"},
		{"hangs up", func(c *mysql.Config) { c.Addr = speaks(t, "") }, "the connection was lost"},
		{"wrong password", func(c *mysql.Config) { c.Passwd = "secret" }, "access denied"},
		{"unknown user", func(c *mysql.Config) { c.User, c.Passwd = "nemo", "secret" }, `access denied to user "nemo"`},
		{"unknown database", func(c *mysql.Config) { c.DBName = "absent" }, `database "absent"`},
		{"clientFoundRows", func(c *mysql.Config) { c.ClientFoundRows = true }, "clientFoundRows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := change(t, dsn, c.edit)
			_, err := CreateTables(t.Context(), changed, "obstacle_")
			checkMessage(t, err, c.want)
			_, err = Open(t.Context(), changed, "obstacle_", 1)
			checkMessage(t, err, c.want)
		})
	}
}

// Nobody may make tables in information_schema, and everybody may enter it.
func TestNoRightOnTheDatabase(t *testing.T) {
	dsn := change(t, startLedger(t), func(c *mysql.Config) { c.DBName = "information_schema" })
	_, err := CreateTables(t.Context(), dsn, "right_")
	checkMessage(t, err, `no right on database "information_schema"`)
	if Kind(err) != "ledger-denied" {
		t.Errorf("kind %q, want ledger-denied", Kind(err))
	}
}

func TestOpenWithoutTables(t *testing.T) {
	f := newFixture(t)
	_, err := Open(t.Context(), f.dsn, "absent_", 1)
	checkMessage(t, err, "absent_")
	checkMessage(t, err, "create the run's tables first")
	for _, table := range slices.Backward(f.tables.all()) { // the first one missing is named
		if err := f.tables.exec(t.Context(), "DROP TABLE "+table); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), f.dsn, f.prefix, 1)
		checkMessage(t, err, strings.Trim(table, "`"))
	}
	_, err = f.Plain().Read(t.Context(), 1, 0)
	if Kind(err) != "ledger-missing-table" {
		t.Errorf("%v (%s), want a missing table", err, Kind(err))
	}
}

func TestMoreConnectionsThanTheServerAdmits(t *testing.T) {
	f := newFixture(t)
	admitted := f.count(t, "SELECT @@global.max_connections")
	for _, size := range []int{admitted, admitted + 1} {
		_, err := Open(t.Context(), f.dsn, f.prefix, size)
		checkMessage(t, err, fmt.Sprintf("max_connections is %d", admitted))
		checkMessage(t, err, fmt.Sprintf("%d connections for the session", size))
	}
	if _, err := Open(t.Context(), f.dsn, f.prefix, 0); err == nil {
		t.Error("a session of no connections was opened")
	}
}

func TestFillOpensEveryConnection(t *testing.T) {
	f := newFixtureOf(t, 1)
	const size = 2*fillAtOnce + 5
	d := f.open(t, f.dsn, size)
	stats := d.pool.Stats()
	if stats.OpenConnections != size || stats.Idle != size {
		t.Fatalf("%d open, %d idle, want %d", stats.OpenConnections, stats.Idle, size)
	}
	atOnce(t, size, func(i int) (Outcome, error) {
		_, err := d.Plain().Read(t.Context(), int64(i+1), 0)
		return Charged, err
	})
	if stats = d.pool.Stats(); stats.OpenConnections != size || stats.WaitCount != 0 {
		t.Errorf("%d open, %d waits inside database/sql; want %d and none", stats.OpenConnections, stats.WaitCount, size)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other, err := Open(t.Context(), f.dsn, f.prefix, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Fill(ctx); err == nil {
		t.Error("filled under a context that had ended")
	}
}
