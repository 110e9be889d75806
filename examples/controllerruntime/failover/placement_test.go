package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

var retired = corev1.Taint{Key: "retired", Effect: corev1.TaintEffectNoExecute}

// clustersOf returns the names of the clusters of a binding.
func clustersOf(b *federation.Binding) (names []string) {
	for _, on := range b.Spec.Clusters {
		names = append(names, on.Name)
	}
	return names
}

// requireMoved wants that a move changes one cluster of a binding, and nothing
// else of it.
func requireMoved(t *testing.T, m Move) {
	t.Helper()
	want := m.Before.DeepCopy()
	for i := range want.Spec.Clusters {
		if on := &want.Spec.Clusters[i]; on.Name == m.From {
			on.Name, on.BoundAt = m.To, m.After.Spec.Clusters[i].BoundAt
			require.NotNil(t, on.BoundAt)
		}
	}
	require.Equal(t, want, m.After)
}

// The taint of a cluster moves a binding from that cluster. On the others it
// stays as it is: since when, and with how many replicas.
func TestABindingStaysOnItsOtherClusters(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 4})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "a-1", "a-2"})
	before := w.bindings["one"].DeepCopy()
	w.refuse = func(task any) error {
		m, is := task.(Move)
		require.True(t, is)
		requireMoved(t, m)
		return nil
	}
	w.taint("a-1", retired)
	w.run(5 * time.Minute)
	require.Equal(t, []string{"one a-1 a-3"}, w.moves)
	after := w.bindings["one"].Spec.Clusters
	require.Equal(t, before.Spec.Clusters[0], after[0])
	require.Equal(t, before.Spec.Clusters[2], after[2])
	require.Equal(t, int32(2), after[1].Replicas)
	require.Equal(t, map[string]int{"a-0": 1, "a-2": 1, "a-3": 1}, w.core.load)
}

// It goes to no cluster that it is on, and stays if there is no other.
func TestABindingIsOnEachClusterOnce(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "a-1", "a-2"})
	w.taint("a-0", retired)
	w.run(time.Minute)
	require.Empty(t, w.moves)
	w.change("one", func(spec *federation.BindingSpec) { spec.Clusters = spec.Clusters[:2] })
	w.run(time.Minute)
	require.Equal(t, []string{"one a-0 a-2"}, w.moves)
}

// Each of its clusters has a deadline of its own, which survives a restart.
func TestEachClusterOfABindingHasADeadline(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 5})
	w.run(grace)
	minute := tolerate("retired", ptr.To[int64](60))
	since := func(cluster string) {
		added := retired
		added.TimeAdded = ptr.To(w.target("", 0).BoundAt.Rfc3339Copy())
		w.taint(cluster, added)
	}
	since("a-2")
	w.run(30 * time.Second)
	w.bindAll("one", []string{"a-0", "a-1"}, minute)
	since("a-0")
	w.run(20 * time.Second)
	since("a-1")
	w.change("one", func(spec *federation.BindingSpec) {
		spec.Clusters = append(spec.Clusters, w.target("a-2", 1))
	})
	w.run(5 * time.Second)
	w.restart()
	w.refuse = func(task any) error {
		m, is := task.(Move)
		require.True(t, is)
		from := map[string]time.Duration{"a-0": 30 * time.Second, "a-1": 50 * time.Second, "a-2": 50 * time.Second}
		due := noon.Add(grace + from[m.From] + time.Minute)
		require.WithinRange(t, w.now, due, due.Add(2*time.Second), m.From)
		return nil
	}
	w.run(34 * time.Second)
	require.Empty(t, w.moves)
	w.run(3 * time.Second)
	require.Equal(t, []string{"one a-0 a-3"}, w.moves)
	w.run(20 * time.Second)
	require.ElementsMatch(t, []string{"one a-0 a-3", "one a-1 a-4"}, w.moves[:2])
}

// What comes back to a cluster has arrived again, and gets the whole time that
// it tolerates. That it was away need not have been observed.
func TestABindingThatComesBackHasArrivedAgain(t *testing.T) {
	away := func(spec *federation.BindingSpec) { spec.Clusters[0].Name = "a-2" }
	back := func(w *world) func(*federation.BindingSpec) {
		return func(spec *federation.BindingSpec) { spec.Clusters[0] = w.target("a-0", 1) }
	}
	for name, again := range map[string]func(*world){
		"observed": func(w *world) {
			w.change("one", away)
			w.change("one", back(w))
		},
		"not observed": func(w *world) { w.change("one", back(w)) },
		"without a time": func(w *world) {
			w.change("one", away)
			w.change("one", func(spec *federation.BindingSpec) {
				spec.Clusters[0] = federation.TargetCluster{Name: "a-0"}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]int{"a": 3})
			w.run(grace)
			w.taint("a-0", retired)
			w.bind("one", "a-0", tolerate("retired", ptr.To[int64](60)))
			w.run(50 * time.Second)
			again(w)
			w.run(59 * time.Second)
			require.Empty(t, w.moves)
			w.run(3 * time.Second)
			require.Equal(t, []string{"one a-0 a-1"}, w.moves)
			require.Len(t, w.core.placements, 1)
		})
	}
}

// Two clusters of a binding fail at once. It leaves one after the other, each
// as soon as the cache has the move before, so that neither patch conflicts.
func TestABindingLeavesTwoClustersOneAfterTheOther(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 5})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "a-1", "a-2"})
	w.bindAll("other", []string{"a-0", "a-1"})
	attempts := 0
	w.refuse = func(any) error {
		attempts++
		return nil
	}
	w.unshown["one"] = true
	w.taint("a-0", retired)
	w.taint("a-1", retired)
	w.run(2 * time.Second)
	require.Len(t, w.moves, 3, "two of the other")
	w.unshown["one"] = false
	w.change("one", func(*federation.BindingSpec) {})
	w.run(2 * time.Second)
	require.Len(t, w.moves, 4)
	require.Equal(t, 4, attempts)
	require.ElementsMatch(t, []string{"a-2", "a-3", "a-4"}, clustersOf(w.bindings["one"]))
	require.NotContains(t, clustersOf(w.bindings["other"]), "a-0")
	require.NotContains(t, clustersOf(w.bindings["other"]), "a-1")
}

// A binding on its way counts where it goes, whatever is observed of it, so
// that the next one goes elsewhere.
func TestABindingOnItsWayCountsWhereItGoes(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 4})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "a-1"})
	w.taint("a-0", retired)
	attempts := 0
	w.refuse = func(any) error {
		attempts++
		w.change("one", func(*federation.BindingSpec) {})
		require.Equal(t, map[string]int{"a-1": 1, "a-2": 1}, w.core.load)
		if attempts == 3 {
			w.refuse = nil
		}
		return errConflict
	}
	w.run(time.Second)
	require.Equal(t, map[string]int{"a-0": 1, "a-1": 1}, w.core.load)
	w.run(time.Minute)
	require.Equal(t, 3, attempts)
	require.Equal(t, map[string]int{"a-1": 1, "a-2": 1}, w.core.load)
}

// Another client changes a binding while it leaves a cluster. The patch is
// refused and decided again, and neither change is lost.
func TestAChangeOfABindingThatLeavesIsKept(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world) func(*federation.BindingSpec)
		want   []string
		moves  int
	}{
		"it is put on another cluster": {func(w *world) func(*federation.BindingSpec) {
			return func(spec *federation.BindingSpec) { spec.Clusters = append(spec.Clusters, w.target("a-2", 1)) }
		}, []string{"a-3", "a-1", "a-2"}, 1},
		"it is taken from another cluster": {func(*world) func(*federation.BindingSpec) {
			return func(spec *federation.BindingSpec) { spec.Clusters = spec.Clusters[:1] }
		}, []string{"a-1"}, 1},
		"it is taken from this cluster": {func(*world) func(*federation.BindingSpec) {
			return func(spec *federation.BindingSpec) { spec.Clusters = spec.Clusters[1:] }
		}, []string{"a-1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]int{"a": 4})
			w.run(grace)
			w.bindAll("one", []string{"a-0", "a-1"})
			w.taint("a-0", retired)
			w.unshown["one"] = true
			changed := false
			w.refuse = func(any) error {
				if !changed { // while the patch is under way
					changed = true
					w.change("one", test.change(w))
				}
				return nil
			}
			w.run(time.Second)
			require.True(t, changed)
			require.Empty(t, w.moves)
			w.unshown["one"] = false
			w.change("one", func(*federation.BindingSpec) {})
			w.run(time.Minute)
			require.Len(t, w.moves, test.moves)
			require.Equal(t, test.want, clustersOf(w.bindings["one"]))
		})
	}
}
