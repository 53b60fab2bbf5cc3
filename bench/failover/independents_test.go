package failover

import (
	"testing"

	"lockcost/results"
)

func TestWhatRedlockLetsThrough(t *testing.T) {
	needServer(t, "redlock")
	tryAll(t, []expected{
		{"node-empty", "redlock", map[results.Event]bool{
			results.LostGrant: some, results.DoubleGrant: some, results.DoubleCharge: some}},
		{"node-killed", "redlock", map[results.Event]bool{
			results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none}},
		{"node-paused", "redlock", map[results.Event]bool{results.DoubleGrant: none, results.DoubleCharge: none}},
		{"no-majority", "redlock", map[results.Event]bool{results.LostGrant: some, results.DoubleGrant: some}},
		{"holder-cut-off", "redlock", map[results.Event]bool{
			results.DoubleGrant: none, results.OutlivedLease: some, results.DoubleCharge: some}},
		{"paused-holder:between-read-and-write", "redlock", map[results.Event]bool{
			results.DoubleGrant: none, results.OutlivedLease: some, results.DoubleCharge: some}},
	}, map[wanted]func(*testing.T, *outcome){
		{"no-majority", "redlock"}:    nothingWithoutMajority,
		{"holder-cut-off", "redlock"}: nobodyTold,
	})
}
