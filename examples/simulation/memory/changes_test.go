package memory

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// Changes have the order of the server, whenever a client reads them.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := NewCluster()
		nodes := cluster.CoreV1().Nodes()
		node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		node.Spec.Unschedulable = true
		time.Sleep(time.Second)
		_, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.NoError(t, nodes.Delete(t.Context(), "b", metav1.DeleteOptions{}))
		time.Sleep(time.Hour)

		var last uint64
		changes := cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes"))
		require.Len(t, changes, 4)
		for i, name := range []string{"a", "b", "a", "b"} {
			c := changes[i]
			require.Equal(t, name, apiserver.MetaOf(c.Object).GetName())
			require.Equal(t, strconv.FormatUint(c.Version, 10), apiserver.MetaOf(c.Object).GetResourceVersion())
			require.Equal(t, i == 3, c.Deleted)
			require.Greater(t, c.Version, last)
			last = c.Version
		}
		apiserver.MetaOf(changes[2].Object).SetName("mine")
		again := cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes"))
		require.Equal(t, "a", apiserver.MetaOf(again[2].Object).GetName())
	})
}
