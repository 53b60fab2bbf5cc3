package assembly

import "lockcost/env"

// redisDurability is the lines of a Redis server's file that make it as
// durable as spec asks: as it comes, it has no append-only file.
func redisDurability(d env.Durability) string {
	switch d {
	case env.Strict:
		return "appendonly yes\nappendfsync always\n"
	case env.Relaxed:
		return "appendonly no\n"
	}
	return ""
}

// ledgerDurability is the statements that make a ledger as durable, for as
// long as it lives.
func ledgerDurability(d env.Durability) []string {
	switch d {
	case env.Strict:
		return []string{"SET GLOBAL innodb_flush_log_at_trx_commit=1", "SET GLOBAL sync_binlog=1"}
	case env.Relaxed:
		return []string{"SET GLOBAL innodb_flush_log_at_trx_commit=2", "SET GLOBAL sync_binlog=0"}
	}
	return nil
}
