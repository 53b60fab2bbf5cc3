package failover

import (
	"testing"

	"lockcost/results"
)

// A holder that is cut off from its lock service charges its order a second
// time, unless it is told that its lock is lost, or the ledger refuses it.
func TestWhatAHolderDoesThatIsCutOff(t *testing.T) {
	needServer(t, "setnx")
	const scenario = "holder-cut-off"
	harm := map[results.Event]bool{results.DoubleGrant: none, results.OutlivedLease: some, results.DoubleCharge: some}
	refused := map[results.Event]bool{results.DoubleGrant: none, results.OutlivedLease: some, results.DoubleCharge: none}
	tryAll(t, []expected{
		{scenario, "setnx", harm},
		{scenario, "watchdog", harm},
		{scenario, "watchdog:notify=yes", map[results.Event]bool{results.DoubleGrant: none, results.DoubleCharge: none}},
		{scenario, "fencing", refused},
		{scenario, "combined", refused},
		{"paused-holder:between-read-and-write", "optimistic", map[results.Event]bool{results.DoubleCharge: none}},
	}, map[wanted]func(*testing.T, *outcome){
		{scenario, "setnx"}:               nobodyTold,
		{scenario, "watchdog"}:            nobodyTold,
		{scenario, "watchdog:notify=yes"}: allToldAndGaveUp,
	})
}
