package main

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"lockcost/env"
)

// contents is every key and table that the stack's servers hold.
func contents(t *testing.T, stack *env.Stack) string {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: stack.Redis.Primary})
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	db, err := sql.Open("mysql", stack.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables int
	if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.tables").Scan(&tables); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("keys %v, %d tables", keys, tables)
}
