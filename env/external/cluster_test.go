package external_test

import (
	"testing"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

func TestClusterIsRefused(t *testing.T) {
	at := processtest.Redis(t, "cluster-enabled yes", "cluster-port "+processtest.OtherPort)
	refused(t, external.Provider{Redis: at}, env.Spec{}, at, "Redis Cluster")
}
