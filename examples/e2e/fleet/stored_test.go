package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A heartbeat counts as stored when the API server has acknowledged it, and not
// when it was only sent.
func TestOnlyAcknowledgedHeartbeatsAreStored(t *testing.T) {
	cluster := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	var beats []Beat
	client := storing{cluster, func(beat Beat) { beats = append(beats, beat) }}
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	create := func() error {
		_, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
		return err
	}
	renew := func() error {
		_, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	}
	report := func() error {
		_, err := client.CoreV1().Nodes().Patch(t.Context(), "a", types.StrategicMergePatchType,
			[]byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
		return err
	}
	sends := []func() error{create, renew, report}
	before := time.Now()
	for _, send := range sends {
		require.NoError(t, send())
	}
	require.Len(t, beats, len(sends))
	for _, beat := range beats {
		require.Equal(t, "a", beat.Node)
		require.False(t, beat.Sent.Before(before))
		require.False(t, beat.Acknowledged.Before(beat.Sent))
	}
	cluster.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the answer is lost")
	})
	for _, send := range sends {
		require.Error(t, send())
	}
	require.Len(t, beats, len(sends))
}
