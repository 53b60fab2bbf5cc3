package process_test

import (
	"testing"

	"lockcost/env"
	"lockcost/env/process/processtest"
)

func TestStartsWhatIsAskedFor(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 2, Sentinels: 3, Ledger: true})
	if len(s.Nodes) != 7 {
		t.Errorf("nodes: %+v", s.Nodes)
	}
}
