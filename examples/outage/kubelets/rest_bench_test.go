package kubelets_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/kubelets"
	"github.com/kubelife/lifecycle/examples/outage/model"
)

// The cluster of the benchmark: a fiftieth of 5,000 nodes with 150,000 pods.
// What it takes grows with the number of each.
const (
	restingNodes = 100
	podsANode    = 30
)

// An hour at rest, with nothing but kubelets. B/pod is the live heap for each
// pod at the end, with its share of a node.
func BenchmarkHourAtRest(b *testing.B) {
	for _, hollow := range []bool{false, true} {
		name := "model"
		if hollow {
			name = "hollownode"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := liveHeap()
				w := resting(b, hollow)
				runUntil(w, time.Hour)
				b.ReportMetric(float64(liveHeap()-before)/(restingNodes*podsANode), "B/pod")
				_, pods := w.Count()
				require.Equal(b, restingNodes*podsANode, pods)
			}
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func resting(b *testing.B, hollow bool) *model.World {
	b.Helper()
	w := model.New(model.Config{
		Seed: 1, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
	})
	if hollow {
		k, err := kubelets.New(w)
		require.NoError(b, err)
		w.Run(k)
	}
	owner := w.AddWorkload("web", model.AtOnce, nil)
	for i := range restingNodes {
		m := w.AddMachine("node-"+string(rune('a'+i/26))+string(rune('a'+i%26)), "zone", "rack")
		for range podsANode {
			owner.Place(m.Name)
		}
	}
	return w
}
