package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// A cluster whose agent says that it is not ready gets a taint of its own, and
// loses it when the agent says that it is ready.
func TestBindingsLeaveAClusterThatIsNotReady(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 4})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "a-1"})
	w.bind("stays", "a-0", tolerate(TaintNotReady, nil))
	w.ill["a-0"] = true
	w.run(4 * interval)
	require.True(t, w.tainted("a-0", TaintNotReady))
	require.False(t, w.unreachable("a-0"))
	require.Equal(t, []string{"one a-0 a-2"}, w.moves)
	require.Zero(t, w.core.Silent())
	w.ill["a-0"] = false
	w.run(interval)
	require.Empty(t, w.clusters["a-0"].Spec.Taints)
}

// A cluster that is not ready, falls silent, and is heard again as not ready,
// was never well. Its taint is replaced and keeps its time, and its bindings
// keep their deadlines, also in a program that is restarted.
func TestAFlappingClusterKeepsTheDeadlinesOfItsBindings(t *testing.T) {
	for name, between := range map[string]func(*world){
		"running": func(*world) {}, "restarted": (*world).restart,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]int{"a": 4})
			w.run(grace)
			w.bindAll("one", []string{"a-0", "a-1"}, corev1.Toleration{
				Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: ptr.To[int64](400),
			})
			w.ill["a-0"] = true
			w.run(3 * interval)
			require.True(t, w.tainted("a-0", TaintNotReady))
			added := w.clusters["a-0"].Spec.Taints[0].TimeAdded
			want := func(key string) {
				t.Helper()
				list := w.clusters["a-0"].Spec.Taints
				require.Equal(t, []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: added}}, list)
			}
			for range 2 {
				w.cut["a-0"] = true
				w.run(2 * grace)
				want(TaintUnreachable)
				between(w)
				w.cut["a-0"] = false
				w.run(3 * interval)
				want(TaintNotReady)
				between(w)
			}
			due := added.Add(400 * time.Second)
			require.Greater(t, due.Sub(w.now), grace)
			w.run(due.Sub(w.now) - time.Second)
			require.Empty(t, w.moves)
			w.run(3 * time.Second)
			require.Equal(t, []string{"one a-0 a-2"}, w.moves)
		})
	}
}

// A taint is replaced at once by what is known of the cluster, also while no
// cluster gets a new one. While that is refused, the old one moves nothing.
func TestATaintIsReplacedWhateverIsHalted(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 4})
	w.run(grace)
	w.bind("one", "a-0", tolerate(TaintNotReady, ptr.To[int64](120)), tolerate(TaintUnreachable, nil))
	w.ill["a-0"] = true
	w.run(3 * interval)
	require.True(t, w.tainted("a-0", TaintNotReady))
	w.core.Halt(w.now)
	w.ill["a-1"] = true
	w.cut["a-0"] = true
	refused := 0
	w.refuse = func(task any) error {
		if _, marks := task.(Marking); marks {
			refused++
			return errConflict
		}
		return nil
	}
	w.run(grace + interval)
	require.Positive(t, refused)
	w.core.Resume(w.now)
	w.run(2 * time.Minute)
	require.Empty(t, w.moves, "it is not known to be not ready any more")
	w.refuse = nil
	w.core.Halt(w.now)
	w.run(time.Minute)
	require.True(t, w.unreachable("a-0"))
	require.False(t, w.tainted("a-0", TaintNotReady))
	require.Empty(t, w.clusters["a-1"].Spec.Taints)
}

// All clusters say that they are not ready: that is no reason to move bindings
// between them.
func TestWhenNoClusterIsReadyNothingMoves(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "b": 3})
	w.run(grace)
	w.bindAll("one", []string{"a-0", "b-0"}, tolerate(TaintNotReady, ptr.To[int64](60)))
	for _, name := range w.names() {
		w.ill[name] = true
	}
	w.run(5 * time.Minute)
	require.Empty(t, w.moves)
	for _, name := range w.names() {
		require.Empty(t, w.clusters[name].Spec.Taints)
	}
}
