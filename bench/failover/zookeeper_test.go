package failover

import (
	"testing"

	"lockcost/results"
)

func TestWhatZooKeeperLetsThrough(t *testing.T) {
	needServer(t, "zookeeper")
	safe := map[results.Event]bool{results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none}
	tryAll(t, []expected{
		{"leader-killed", "zookeeper", safe},
		{"leader-paused", "zookeeper", safe},
		{"no-majority", "zookeeper", safe},
		{"holder-cut-off", "zookeeper", map[results.Event]bool{results.DoubleGrant: none, results.DoubleCharge: none, results.RepeatedToken: none}},
		{"paused-holder:between-read-and-write", "zookeeper:guard=token", map[results.Event]bool{
			results.DoubleGrant: none, results.DoubleCharge: none, results.RepeatedToken: none}},
	}, map[wanted]func(*testing.T, *outcome){
		{"leader-killed", "zookeeper"}:  leaderIsFollowed,
		{"leader-paused", "zookeeper"}:  leaderIsFollowed,
		{"no-majority", "zookeeper"}:    nothingWithoutMajority,
		{"holder-cut-off", "zookeeper"}: allToldAndGaveUp,
	})
}
