package controlplane

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
)

// What was created after the snapshot is gone, what was before it is as it was,
// and versions go on above all that were given out.
func TestASnapshotIsRestoredWithHigherRevisions(t *testing.T) {
	t.Parallel()
	cp := ForTest(t, Config{})
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	require.NoError(t, err)
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	create := func(name string) *corev1.ConfigMap {
		created, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		return created
	}
	before := create("before")
	snapshot := filepath.Join(t.TempDir(), "etcd.db")
	require.NoError(t, cp.SaveSnapshot(t.Context(), snapshot))
	create("after")

	require.NoError(t, cp.KillAPIServer())
	require.NoError(t, cp.RestoreSnapshot(t.Context(), snapshot, 1_000_000))
	require.NoError(t, cp.RestartAPIServer(t.Context()))
	restored, err := maps.Get(t.Context(), before.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, before.UID, restored.UID)
	require.Equal(t, before.ResourceVersion, restored.ResourceVersion)
	_, err = maps.Get(t.Context(), "after", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	order, err := resourceversion.CompareResourceVersion(create("after").ResourceVersion, "1000000")
	require.NoError(t, err)
	require.Positive(t, order)

	require.ErrorContains(t, cp.SaveSnapshot(t.Context(), t.TempDir()), "etcdctl")
	require.NoError(t, cp.Stop())
	require.ErrorIs(t, cp.RestoreSnapshot(t.Context(), snapshot, 1), ErrStopped)
}
