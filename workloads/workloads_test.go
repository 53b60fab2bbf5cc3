package workloads

import (
	"strings"
	"testing"
	"time"
)

func TestFindSetsOptions(t *testing.T) {
	for spec, label := range map[string]string{
		"setnx":                           "setnx",
		" setnx-wait ":                    "setnx-wait",
		"setnx-wait:round-trips=2":        "setnx-wait:round-trips=2",
		"setnx:pool=4:form=script":        "setnx:form=script:pool=4",
		"setnx-wait:round-trips=2:pool=9": "setnx-wait:pool=9:round-trips=2",
	} {
		p, err := Find(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if p.Label() != label {
			t.Errorf("%s: label %s, want %s", spec, p.Label(), label)
		}
	}
	if p, _ := Find("setnx"); p.value("form") != "command" {
		t.Errorf("the default form is %q", p.value("form"))
	}
}

func TestFindRefusesAndNames(t *testing.T) {
	for spec, names := range map[string]string{
		"":                         "unknown path",
		"redis":                    "setnx-wait", // the paths there are
		"null:pool=1":              "no options",
		"setnx:round-trips=2":      "form",
		"setnx:form=other":         "command",
		"setnx:form":               "value",
		"setnx:pool=-1":            "pool",
		"setnx:pool=many":          "pool",
		"setnx:pool=1:pool=2":      "twice",
		"setnx-wait:round-trips=3": "round-trips",
	} {
		if _, err := Find(spec); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: the error does not name %q: %v", spec, names, err)
		}
	}
}

func TestEachPathNeedsWhatItUses(t *testing.T) {
	for _, p := range Catalogue() {
		if p.Summary == "" {
			t.Errorf("%s has no summary", p.Name)
		}
		spec := p.Needs(Settings{WaitReplicas: 2, WaitTimeout: time.Second})
		if want := p.Name == "fencing" || p.Name == "idempotent"; spec.Ledger != want || p.Guarded() != want {
			t.Errorf("%s: needs a ledger %v, is guarded %v", p.Name, spec.Ledger, p.Guarded())
		}
		if want := map[string]int{"setnx-wait": 2}[p.Name]; spec.Replicas != want {
			t.Errorf("%s: needs %d replicas, want %d", p.Name, spec.Replicas, want)
		}
	}
	if floors := Floors(); len(floors) != 2 || floors[0].Name != "null" || floors[1].Name != "ping" {
		t.Errorf("floors: %v", floors)
	}
}
