package daemonset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestOrphansAreAdoptedAndStrangersReleased: pods and revisions that have lost
// their owner get it back, and a pod that a user takes out of the selector, to
// look into it, is let go and replaced.
func TestOrphansAreAdoptedAndStrangersReleased(t *testing.T) {
	const nodes, name = 5, "agent"
	c := newCluster(t, nodes)
	c.addSet(name, 1)
	_, stop := start(t, c.user("first", nil))
	c.rolledOut(name, nodes)
	stop()

	before := c.uids()
	orphan := []byte(`[{"op":"remove","path":"/metadata/ownerReferences"}]`)
	living, err := c.witness.living()
	require.NoError(t, err)
	for _, pod := range living {
		_, err := c.client.CoreV1().Pods(pod.Namespace).
			Patch(t.Context(), pod.Name, types.JSONPatchType, orphan, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	revision := c.revisions()[0]
	_, err = c.client.AppsV1().ControllerRevisions(revision.Namespace).
		Patch(t.Context(), revision.Name, types.JSONPatchType, orphan, metav1.PatchOptions{})
	require.NoError(t, err)

	start(t, c.user("second", nil))
	owned := func(object metav1.Object) error {
		if !metav1.IsControlledBy(object, c.daemonSet(name)) {
			return fmt.Errorf("%s is an orphan", object.GetName())
		}
		return nil
	}
	c.eventually("pods and revision are adopted", func() error {
		living, err := c.witness.living()
		for _, pod := range living {
			if err == nil {
				err = owned(pod)
			}
		}
		if revision := c.revisions()[0]; err == nil {
			err = owned(&revision)
		}
		return err
	})
	require.Equal(t, before, c.uids())
	require.Equal(t, map[string]int{"patch pods": nodes, "patch controllerrevisions": 1}, c.writes("second"))

	taken := living["node-000"]
	_, err = c.client.CoreV1().Pods(taken.Namespace).Patch(t.Context(), taken.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app":"under-observation"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.eventually("it is released and replaced", func() error {
		released, err := c.client.CoreV1().Pods(taken.Namespace).Get(t.Context(), taken.Name, metav1.GetOptions{})
		if err == nil && metav1.GetControllerOf(released) != nil {
			err = fmt.Errorf("%s is still owned", released.Name)
		}
		if pods := c.witness.ever()["node-000"]; err == nil && len(pods) != 2 {
			err = fmt.Errorf("%d pods on its node", len(pods))
		}
		return err
	})
}
