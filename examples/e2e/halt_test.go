package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestC7AHaltHoldsAndLosesNothing: an annotation of the leader's Lease holds
// all evictions and NoExecute taints. It holds those of the replica that comes
// after the leader, too. When it is gone all go on.
func TestC7AHaltHoldsAndLosesNothing(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 10}, fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](10))})
	first := c.startController(election...)
	settle(t)
	failed := c.fleet.Nodes("a")[:4]
	c.fleet.Cut(failed[:2]...)
	c.eventually("two are Unknown and tainted", func(w *witness) error { return w.each(failed[:2], (*nodeSeen).wantIll) })
	c.annotateLease("nodelifecycle", `"a test"`)
	c.fleet.Cut(failed[2:]...)
	time.Sleep(2 * grace)
	require.NoError(t, c.witness.ask(wantEvicted()), "held, though their tolerations have ended")
	require.NoError(t, c.witness.ask(func(w *witness) error { return w.each(failed[2:], (*nodeSeen).wantHeld) }))

	first.Kill()
	second := c.startController(election...)
	time.Sleep(2 * grace) // it leads, and the grace period after its start has ended
	require.True(t, second.Running())
	require.NoError(t, c.witness.ask(wantEvicted()), "the next leader is halted as well")
	require.NoError(t, c.witness.ask(func(w *witness) error { return w.each(failed[2:], (*nodeSeen).wantHeld) }))

	c.annotateLease("nodelifecycle", "null")
	c.within(5*time.Second, "the pods of the first two leave",
		wantEvicted(fleet.PodName("web", failed[0]), fleet.PodName("web", failed[1])))
	c.eventually("the others are tainted", func(w *witness) error { return w.each(failed[2:], (*nodeSeen).wantIll) })
	events, err := c.client.CoreV1().Events(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Lease,involvedObject.name=nodelifecycle",
	})
	require.NoError(t, err)
	reasons := map[string]bool{}
	for i := range events.Items {
		reasons[events.Items[i].Reason] = true
	}
	require.True(t, reasons["Halted"], "%v", reasons)
	require.True(t, reasons["Resumed"], "%v", reasons)
}

// annotateLease sets the annotation of a leader's Lease that halts, to a value
// in JSON, as an administrator does.
func (c *cluster) annotateLease(name, value string) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"lifecycle.kubelife.io/halt":%s}}}`, value)
	_, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).
		Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.t, err)
}
