package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestTheProgramOfREADME: it evicts, by the Eviction API alone, the pods that
// do not tolerate their nodes' taints, one in ten seconds from each node. It
// evicts none that a PodDisruptionBudget keeps.
func TestTheProgramOfREADME(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 3},
		fleet.Pod{Name: "web"}, fleet.Pod{Name: "api"}, fleet.Pod{Name: "kept"})
	nodes := c.fleet.Nodes("a")
	for _, node := range nodes {
		c.keep(fleet.PodName("kept", node))
	}
	process, err := controlplane.StartProcess(controlplane.Command{
		Path:    program(t, "quickstart"),
		Env:     []string{"KUBECONFIG=" + c.plane.Kubeconfig()},
		LogFile: filepath.Join(t.TempDir(), "quickstart.log"),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("log of quickstart:\n%s", process.LogTail(60))
		}
	})
	for _, node := range nodes[:2] {
		c.taint(node)
	}
	began := time.Now()
	c.within(8*time.Second, "one leaves each node", func(w *witness) error { return wantGone(w, 2) })
	c.eventually("then another", wantEvicted(
		fleet.PodName("api", nodes[0]), fleet.PodName("api", nodes[1]),
		fleet.PodName("web", nodes[0]), fleet.PodName("web", nodes[1])))
	require.Greater(t, time.Since(began), 8*time.Second, "two of one node within ten seconds")
	require.True(t, process.Running())

	evictions,
		err := c.plane.Requests(t.Context(), controlplane.Filter{UserAgent: "quickstart", Resource: "pods/eviction"})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(evictions), 4)
	deletions,
		err := c.plane.Requests(t.Context(), controlplane.Filter{UserAgent: "quickstart", Verb: "delete", Resource: "*"})
	require.NoError(t, err)
	require.Empty(t, deletions)
}

func wantGone(w *witness, n int) error {
	if gone := w.evicted(); len(gone) != n {
		return fmt.Errorf("%v are gone, want %d pods", gone, n)
	}
	return nil
}

// keep gives a pod a PodDisruptionBudget of its own that allows nothing. What
// it allows is written here, as the disruption controller would.
func (c *cluster) keep(pod string) {
	c.t.Helper()
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"kept":%q}}}`, pod)
	_, err := c.client.CoreV1().Pods(fleet.Namespace).
		Patch(c.t.Context(), pod, types.MergePatchType, label, metav1.PatchOptions{})
	require.NoError(c.t, err)
	all, budgets := intstr.FromString("100%"), c.client.PolicyV1().PodDisruptionBudgets(fleet.Namespace)
	budget, err := budgets.Create(c.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: pod},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kept": pod}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	budget.Status.ObservedGeneration = budget.Generation
	_, err = budgets.UpdateStatus(c.t.Context(), budget, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}
