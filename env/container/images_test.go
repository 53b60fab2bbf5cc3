package container_test

import (
	"os"
	"strings"
	"testing"

	"lockcost/env/container"
)

// In containers and as processes it is the same etcd.
func TestEtcdImageIsOfTheModulesVersion(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(container.DefaultEtcdImage, ":")
	if !strings.Contains(string(module), "\tgo.etcd.io/etcd/server/v3 "+version+" ") {
		t.Errorf("%s is not of the version in go.mod", container.DefaultEtcdImage)
	}
}
