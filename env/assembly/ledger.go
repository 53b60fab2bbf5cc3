package assembly

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	database = "lockcost" // and the name of its user
	// MaxConnections is enough for the most workers a run has at 1000/s; the
	// default 151 of a ledger is not.
	MaxConnections = 2000
	ledgerTimeout  = 3 * time.Second // of a dial, and of a reply, while it is not ready
)

// startLedger starts the ledger, if there is to be one.
func (b *builder) startLedger(ctx context.Context) error {
	if b.ledger == nil {
		return nil
	}
	password := randomHex(16)
	dsn := ledgerConfig(b.ledger.addr(), password)
	// Each life of the server is made as durable as it is to be, and answers
	// only then.
	durability := ledgerDurability(b.spec.Durability)
	b.ledger.answers = func(ctx context.Context) error { return ping(ctx, dsn, durability...) }
	b.ledgerDSN = dsn.FormatDSN()
	return b.launch(ctx, b.ledger, welcome(password))
}

// welcome makes the database and its user, who comes over TCP and may do
// anything: the server is the driver's own, and faults are injected by SQL
// too. Each statement is on one line, as an init file must be.
func welcome(password string) string {
	return fmt.Sprintf(`CREATE DATABASE %[1]s;
CREATE USER '%[1]s'@'%%' IDENTIFIED BY '%[2]s';
GRANT ALL ON *.* TO '%[1]s'@'%%' WITH GRANT OPTION;
`, database, password)
}

func ledgerConfig(addr, password string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", addr, database
	c.User, c.Passwd = database, password
	return c
}

// ping checks that the ledger lets its user in and answers, and runs
// statements.
func ping(ctx context.Context, dsn *mysql.Config, statements ...string) error {
	c := dsn.Clone()
	c.Timeout, c.ReadTimeout, c.WriteTimeout = ledgerTimeout, ledgerTimeout, ledgerTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
