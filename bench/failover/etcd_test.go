package failover

import (
	"testing"

	"lockcost/results"
)

func TestWhatEtcdLetsThrough(t *testing.T) {
	needServer(t, "etcd")
	tryAll(t, []expected{
		{"leader-killed", "etcd", map[results.Event]bool{
			results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none, results.LostCharge: none}},
		{"leader-paused", "etcd", map[results.Event]bool{results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none}},
		{"no-majority", "etcd", map[results.Event]bool{results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none}},
		{"no-majority:cut-off", "etcd", map[results.Event]bool{results.LostGrant: none, results.DoubleGrant: none, results.DoubleCharge: none}},
		{"holder-cut-off", "etcd", map[results.Event]bool{results.DoubleGrant: none, results.DoubleCharge: none, results.RepeatedToken: none}},
		{"paused-holder:between-read-and-write", "etcd:guard=token", map[results.Event]bool{
			results.DoubleGrant: none, results.DoubleCharge: none, results.RepeatedToken: none}},
	}, map[wanted]func(*testing.T, *outcome){
		{"leader-killed", "etcd"}:       leaderIsFollowed,
		{"leader-paused", "etcd"}:       leaderIsFollowed,
		{"no-majority", "etcd"}:         nothingWithoutMajority,
		{"no-majority:cut-off", "etcd"}: nothingWithoutMajority,
		{"holder-cut-off", "etcd"}:      allToldAndGaveUp,
	})
}
