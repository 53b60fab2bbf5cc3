package ledger

// Combined is to be the token guard and the unique key in one; pending.
func (d *DB) Combined() Guard { return fencing{d} }
