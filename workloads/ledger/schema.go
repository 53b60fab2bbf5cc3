package ledger

import (
	"fmt"
	"regexp"
	"strings"
)

// The prefix must leave room for a table's own name within the 64 characters
// of an identifier, and may not be empty: "orders" may well be somebody's.
var validPrefix = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// names is the tables of one prefix, quoted for use in a statement.
type names struct {
	orders, charges, markers, tokens, items string
}

func newNames(prefix string) (names, error) {
	if !validPrefix.MatchString(prefix) {
		return names{}, fmt.Errorf("ledger: table prefix %q: 1 to 40 of a-z, 0-9 and _ are allowed", prefix)
	}
	quote := func(name string) string { return "`" + prefix + name + "`" }
	return names{quote("orders"), quote("charges"), quote("markers"), quote("tokens"), quote("items")}, nil
}

// absent is the name of a table that nobody has: 64 random bits are in it.
func (n names) absent() string {
	return fmt.Sprintf("%s_%016x`", strings.TrimSuffix(n.tokens, "`"), newID())
}

func (n names) all() []string {
	return []string{n.orders, n.charges, n.markers, n.tokens, n.items}
}

// create returns the statements that make the tables.
//
// Nothing in charges is unique but its own key: whether an order is charged
// once is the guard's work, and the audit must be able to see that it failed.
func (n names) create() []string {
	return []string{
		`CREATE TABLE ` + n.orders + ` (
			id BIGINT NOT NULL PRIMARY KEY,
			paid TINYINT NOT NULL DEFAULT 0,
			version BIGINT NOT NULL DEFAULT 0,
			fence BIGINT UNSIGNED NOT NULL DEFAULT 0,
			fence_holder BIGINT UNSIGNED NOT NULL DEFAULT 0
		) ENGINE=InnoDB`,
		`CREATE TABLE ` + n.charges + ` (
			id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
			order_id BIGINT NOT NULL,
			attempt BIGINT UNSIGNED NOT NULL,
			token BIGINT UNSIGNED NOT NULL,
			KEY (order_id)
		) ENGINE=InnoDB`,
		`CREATE TABLE ` + n.markers + ` (
			order_id BIGINT NOT NULL PRIMARY KEY
		) ENGINE=InnoDB`,
		`CREATE TABLE ` + n.tokens + ` (
			id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY
		) ENGINE=InnoDB`,
		`CREATE TABLE ` + n.items + ` (
			id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
			order_id BIGINT NOT NULL,
			line INT NOT NULL,
			text CHAR(100) NOT NULL,
			KEY (order_id)
		) ENGINE=InnoDB`,
	}
}
