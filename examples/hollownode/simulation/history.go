package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// stored records a change.
func (w *World) stored(write cluster.Write) {
	change := &invariant.Change{
		Kind: write.Kind, Version: write.Version, At: write.At, Before: write.Before, After: write.After,
	}
	if write.Call != nil {
		change.By, _ = write.Call.Cause.(*invariant.Call)
	}
	w.history.Changes = append(w.history.Changes, change)
}

// faulty records a time from now in which something is wrong with all nodes.
func (w *World) faulty(what string, period time.Duration) {
	w.history.Faults = append(w.history.Faults, invariant.Fault{What: what, From: w.Now(), To: w.Now().Add(period)})
}

// witness records what the kubelets are told.
type witness struct {
	network.Unimpressed

	world *World
}

// Saw records which faults of a node have begun and ended, and that its kubelet
// starts.
func (v witness) Saw(_ *network.Client, _ network.Kind, before, after network.Object) {
	w := v.world
	node, ok := after.(*corev1.Node)
	if !ok {
		return
	}
	old, known := before.(*corev1.Node)
	if !known || old.UID != node.UID || startOf(old) != startOf(node) {
		w.history.Starts = append(w.history.Starts, invariant.Start{Node: node.Name, At: w.Now()})
	}
	was, is := w.process.broken[node.Name], map[string]time.Time{}
	for key := range node.Annotations {
		what, found := strings.CutPrefix(key, cri.AnnotationDomain+"/")
		if !found || what == kubelet.AnnotationBoot || what == kubelet.AnnotationStart {
			continue
		}
		if is[what] = w.Now(); !was[what].IsZero() {
			is[what] = was[what]
		}
	}
	w.process.broken[node.Name] = is
	for what := range is {
		delete(was, what)
	}
	w.mended(node.Name, was)
}

func startOf(node *corev1.Node) string {
	return node.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationStart]
}

// mended records faults of a node that end now.
func (w *World) mended(node string, since map[string]time.Time) {
	for _, what := range slices.Sorted(maps.Keys(since)) {
		w.history.Faults = append(w.history.Faults, invariant.Fault{Node: node, What: what, From: since[what], To: w.Now()})
	}
}
