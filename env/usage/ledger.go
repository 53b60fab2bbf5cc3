package usage

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ledgerStatus are the variables that are read. MySQL and MariaDB count the
// syncs of the redo log among Innodb_data_fsyncs. MariaDB syncs its binary log
// once for each group of commits, where sync_binlog is 1.
var ledgerStatus = []string{"Bytes_received", "Bytes_sent", "Questions", "Innodb_data_fsyncs", "Binlog_group_commits"}

// ledger is a server of the MySQL family.
type ledger struct {
	db  *sql.DB
	err error // why there is none
}

// askTimeout bounds what a ledger is asked.
const askTimeout = 3 * time.Second

func newLedger(dsn string) *ledger {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return &ledger{err: errors.New("its data source name cannot be read")} // the cause may quote it
	}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = askTimeout, askTimeout, askTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return &ledger{err: errors.New("its data source name cannot be used")}
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return &ledger{db: db}
}

func (l *ledger) close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}

func (l *ledger) read(ctx context.Context) (Reading, error) {
	if l.err != nil {
		return Reading{}, l.err
	}
	status, err := l.show(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('"+strings.Join(ledgerStatus, "','")+"')")
	if err != nil {
		return Reading{}, err
	}
	variables, err := l.show(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin','sync_binlog','version')")
	if err != nil {
		return Reading{}, err
	}
	r := newReading()
	r.take(BytesIn, status["Bytes_received"], 1)
	r.take(BytesOut, status["Bytes_sent"], 1)
	r.take(Commands, status["Questions"], 1)
	r.take(Fsyncs, status["Innodb_data_fsyncs"], 1)
	r.Unknown[CPU] = noCPU
	if variables["log_bin"] == "ON" && variables["sync_binlog"] != "0" {
		binary := newReading()
		binary.take(Fsyncs, status["Binlog_group_commits"], 1)
		if _, known := binary.Values[Fsyncs]; known && variables["sync_binlog"] == "1" {
			r.Values[Fsyncs] += binary.Values[Fsyncs]
		} else {
			delete(r.Values, Fsyncs)
			r.Unknown[Fsyncs] = "this server does not count those of its binary log"
		}
	}
	return r, nil
}

func (l *ledger) show(ctx context.Context, statement string) (map[string]string, error) {
	rows, err := l.db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[name] = value
	}
	return found, rows.Err()
}
