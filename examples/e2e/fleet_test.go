package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestFleetIsKubelets: the fleet that other tests take for nodes runs its pods
// and ends those that are deleted. A node that is cut off does neither, and no
// heartbeat of it is stored until it is restored.
func TestFleetIsKubelets(t *testing.T) {
	c := newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 2})
	nodes := c.fleet.Nodes("a")
	require.NoError(t, c.fleet.AddPods(t.Context(), nodes, fleet.Pod{Name: "web"}))
	c.eventually("nodes and pods are ready", func(w *witness) error {
		for _, node := range nodes {
			if p := w.pods[fleet.PodName("web", node)]; p == nil || p.ready != corev1.ConditionTrue {
				return fmt.Errorf("the pod of %s is not ready", node)
			}
		}
		return w.each(nodes, func(n *nodeSeen) error { return n.wantReady(corev1.ConditionTrue) })
	})

	c.fleet.Cut(nodes[0])
	time.Sleep(interval / 2) // what was on its way has come
	cut := time.Now()
	pods := c.client.CoreV1().Pods(fleet.Namespace)
	for _, node := range nodes {
		require.NoError(t, pods.Delete(t.Context(), fleet.PodName("web", node), metav1.DeleteOptions{}))
	}
	wantEnded := func(node string) error {
		_, err := pods.Get(t.Context(), fleet.PodName("web", node), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	}
	sinceCut := func(node string) error {
		beats, err := fleet.BeatsOf(t.Context(), c.plane, cut)
		if err == nil && len(beats[node]) == 0 {
			err = errors.New("no heartbeat is stored")
		}
		return err
	}
	c.eventually("the pod of the other node ends", func(*witness) error { return wantEnded(nodes[1]) })
	time.Sleep(2 * interval)
	require.Error(t, wantEnded(nodes[0]))
	require.Error(t, sinceCut(nodes[0]))
	require.NoError(t, sinceCut(nodes[1]))

	c.fleet.Restore(nodes[0])
	c.eventually("the pod ends after all", func(*witness) error { return wantEnded(nodes[0]) })
	c.eventually("the node sends heartbeats again", func(*witness) error { return sinceCut(nodes[0]) })
}
