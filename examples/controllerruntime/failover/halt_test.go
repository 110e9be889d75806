package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// While it is halted no binding moves and no cluster gets the taint. A cluster
// that returns loses it. Afterwards nothing is lost.
func TestAHaltHoldsMovesAndTaints(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 5, "b": 5})
	w.run(grace)
	w.bind("early", "a-0", tolerate(TaintUnreachable, ptr.To[int64](60)))
	w.bind("late", "b-0")
	w.cut["a-0"] = true
	w.run(grace + 2*interval)
	require.True(t, w.unreachable("a-0"))

	w.core.Halt(w.now)
	w.core.Halt(w.now)
	w.cut["b-0"] = true
	w.run(3 * grace)
	require.True(t, readyIs(w.clusters["b-0"], metav1.ConditionUnknown))
	require.False(t, w.unreachable("b-0"))
	require.Empty(t, w.moves, "though a toleration has ended")
	w.cut["a-0"] = false
	w.run(2 * interval)
	require.False(t, w.unreachable("a-0"), "taints are removed")

	w.cut["a-0"] = true
	w.run(2 * grace)
	require.False(t, w.unreachable("a-0"))
	w.core.Resume(w.now)
	w.run(2 * time.Second)
	require.True(t, w.unreachable("a-0"))
	require.True(t, w.unreachable("b-0"))
	require.Equal(t, []string{"late b-0 a-1"}, w.moves)
	w.run(time.Minute)
	require.Len(t, w.moves, 2, "60 s after the taint")
}

// A taint that waits when the halt begins is held too.
func TestAHaltHoldsATaintThatWaits(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 5, "b": 5})
	w.run(grace)
	w.cut["a-0"] = true
	for !readyIs(w.clusters["a-0"], metav1.ConditionUnknown) {
		w.run(time.Second)
	}
	require.False(t, w.unreachable("a-0"), "its region is judged first")
	w.core.Halt(w.now)
	w.run(2 * grace)
	require.False(t, w.unreachable("a-0"))
	w.core.Resume(w.now)
	w.run(time.Second)
	require.True(t, w.unreachable("a-0"))
}
