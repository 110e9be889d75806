//go:build !race

package mutations

import (
	"testing"
	"slices"
	"time"
	"github.com/kubelife/lifecycle/examples/mutant"
)

func TestTry(t *testing.T) {
	names := []string{
		"an eviction that has succeeded is forgotten", "a pod's name is taken for its identity",
		"a pod that could not be marked not ready is not tried again", "a mark that has become moot stays",
		"taints are written over what others have written", "what the live read of a lease says is ignored",
		"nothing is decided again between mark and delete", "a node that could not be declared is not declared later",
		"an eviction does not say which pod it is for", "a restart starts tolerations again", "tainted nodes are untainted at the start",
	}
	for _, m := range all() {
		if !slices.Contains(names, m.name) { continue }
		t.Run(m.name, func(t *testing.T) {
			program, err := m.fault().Build(t.Context(), repository, "../exhaustive", t.TempDir())
			if err != nil { t.Log(err); return }
			began := time.Now()
			err = mutant.Fails(t.Context(), program, "-test.run", "TestEverySchedule")
			t.Log(time.Since(began), err == nil)
		})
	}
}
