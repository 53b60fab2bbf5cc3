package external

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	dsnForm       = "user:password@tcp(host:port)/database"
	ledgerTimeout = 3 * time.Second // of the dial and of each reply
)

// MySQL's and MariaDB's numbers for refusing somebody.
const (
	tooManyConnections = 1040
	deniedDatabase     = 1044
	deniedUser         = 1045
	unknownDatabase    = 1049
	deniedHost         = 1130
	deniedPlain        = 3159
)

// checkLedger checks that the ledger lets us in, and returns its address.
// Its errors quote nothing of the data source name but address, user and
// database.
func checkLedger(ctx context.Context, dsn string) (addr string, err error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", errors.New("the ledger's data source name cannot be read: want " + dsnForm)
	}
	what := "ledger at " + c.Addr
	if c.DBName == "" {
		return "", fmt.Errorf("%s: its data source name names no database: want %s", what, dsnForm)
	}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = ledgerTimeout, ledgerTimeout, ledgerTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return "", fmt.Errorf("%s: its data source name cannot be used: want %s", what, dsnForm)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return "", explainLedger(what, c, err)
	}
	return c.Addr, nil
}

func explainLedger(what string, c *mysql.Config, err error) error {
	var refusal *mysql.MySQLError
	if errors.Is(err, mysql.ErrNoTLS) {
		return fmt.Errorf("%s has no TLS: leave tls=%s out of its data source name", what, c.TLSConfig)
	}
	if !errors.As(err, &refusal) {
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) {
			return fmt.Errorf("%s closes the connection: is it a MySQL or MariaDB?", what)
		}
		return unreachable(what, err, c.TLS)
	}
	switch refusal.Number {
	case deniedUser:
		if c.TLS == nil { // MariaDB's answer, and everybody's to a user that is to REQUIRE SSL
			return fmt.Errorf("%s refuses user %q or the password that was given, or admits them only over TLS: "+
				"then add ?tls=true to its data source name", what, c.User)
		}
		return fmt.Errorf("%s refuses user %q or the password that was given", what, c.User)
	case deniedDatabase:
		return fmt.Errorf("%s does not allow user %q database %q: see GRANT", what, c.User, c.DBName)
	case unknownDatabase:
		return fmt.Errorf("%s has no database %q: CREATE DATABASE %s, or name another", what, c.DBName, c.DBName)
	case deniedHost:
		return fmt.Errorf("%s does not admit user %q from this machine: see CREATE USER", what, c.User)
	case deniedPlain:
		return fmt.Errorf("%s admits only TLS: add ?tls=true to its data source name", what)
	case tooManyConnections:
		return fmt.Errorf("%s has as many connections as it admits: see its max_connections", what)
	}
	return fmt.Errorf("%s answers %q", what, firstLine(refusal.Error()))
}

// ownTLS is what the driver calls our TLS settings.
const ownTLS = "lockcost"

// verified tells whether a data source name asks for TLS that verifies the
// server.
func verified(dsn string) bool {
	c, err := mysql.ParseDSN(dsn)
	return err == nil && dsn != "" && c.TLSConfig == "true"
}

// secureLedger returns the ledger's data source name, whose tls=true is
// verified by p.TLS.CA where there is one: the driver knows only names of
// settings, which it keeps for the whole process. Our certificate is for Redis
// alone: a MariaDB without a CA breaks off with whoever shows it one.
func (p Provider) secureLedger() (dsn string, err error) {
	if p.TLS.CA == "" || !verified(p.Ledger) {
		return p.Ledger, nil
	}
	secure, err := TLSFiles{CA: p.TLS.CA}.load()
	if err != nil {
		return "", err
	}
	if err := mysql.RegisterTLSConfig(ownTLS, secure); err != nil {
		return "", fmt.Errorf("the ledger's TLS: %w", err)
	}
	c, err := mysql.ParseDSN(p.Ledger)
	if err != nil {
		return "", errors.New("the ledger's data source name cannot be read: want " + dsnForm)
	}
	c.TLSConfig, c.TLS = ownTLS, nil
	return c.FormatDSN(), nil
}

// overTLS tells whether a data source name that can be read asks for TLS.
func overTLS(dsn string) bool {
	c, err := mysql.ParseDSN(dsn)
	return err == nil && (c.TLS != nil || c.TLSConfig != "")
}
