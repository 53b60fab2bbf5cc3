package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Timeouts of a connection, where the data source name sets none. An
// operation is bounded by its context; these are for a ledger that went
// silent where no context would end the wait, and so lie well above any
// operation's timeout.
const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 30 * time.Second
)

// Config parses a data source name as the driver spells it,
// user:password@tcp(host:3306)/database?options, and returns it with the
// settings that the guards and the measurement rely on:
//
//   - interpolateParams, so that a statement is one round trip and not three;
//   - autocommit on and completion_type 0, whatever the server's defaults: a
//     raised fence must be seen by others at once, and no COMMIT may begin
//     another transaction;
//   - no parseTime, no multiStatements, and the timeouts of this package
//     where the name sets none.
//
// It refuses clientFoundRows=true, and a name without a database. No error
// of it contains the password.
func Config(dsn string) (*mysql.Config, error) {
	cfg, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if cfg.ClientFoundRows {
		return nil, errors.New("ledger: clientFoundRows=true makes the server report rows matched instead of rows changed, and guards that count rows would let every repeat pass: remove it from the data source name")
	}
	return cfg, nil
}

// parse is Config without its refusal of clientFoundRows.
func parse(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, badDSN(err)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("ledger: the data source name for %s has no database: add its name after the slash, as in user:password@tcp(%s)/lockcost", cfg.Addr, cfg.Addr)
	}
	cfg.InterpolateParams = true
	cfg.ParseTime = false
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // what it would print is in the errors
	if cfg.Params == nil {
		cfg.Params = make(map[string]string)
	}
	cfg.Params["autocommit"] = "1"
	cfg.Params["completion_type"] = "0"
	setDefault(&cfg.Timeout, dialTimeout)
	setDefault(&cfg.ReadTimeout, ioTimeout)
	setDefault(&cfg.WriteTimeout, ioTimeout)
	if _, err := mysql.NewConnector(cfg); err != nil {
		return nil, badDSN(err)
	}
	return cfg, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// badDSN explains why a data source name was not understood. Of the driver's
// messages only its fixed ones are passed on: others quote a part of the
// name, and in a malformed name that part can be the password.
func badDSN(err error) error {
	const form = "expected user:password@tcp(host:3306)/database"
	if detail, fixed := strings.CutPrefix(err.Error(), "invalid DSN: "); fixed {
		return fmt.Errorf("ledger: malformed data source name: %s; %s", detail, form)
	}
	return errors.New("ledger: malformed data source name; " + form)
}
