package memory

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Changes have the order and the times of the server, whenever a client reads
// them.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := NewCluster()
		started := time.Now()
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
			require.Equal(t, name, metaOf(c.Object).GetName())
			require.Equal(t, formatVersion(c.Version), metaOf(c.Object).GetResourceVersion())
			require.Equal(t, time.Duration(i)*time.Second, c.StoredAt.Sub(started))
			require.Equal(t, i == 3, c.Deleted)
			require.Greater(t, c.Version, last)
			last = c.Version
		}
		metaOf(changes[2].Object).SetName("mine")
		again := cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes"))
		require.Equal(t, "a", metaOf(again[2].Object).GetName())
	})
}

// A lease that is copied is the one that JSON would have made.
func TestLeaseIsNormalizedAsByJSON(t *testing.T) {
	odd := time.Date(2026, 11, 23, 1, 2, 3, 456789123, time.UTC)
	lease := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "a", UID: "u", ResourceVersion: "7", Labels: map[string]string{"k": "v"},
			CreationTimestamp: metav1.NewTime(odd), DeletionTimestamp: new(metav1.NewTime(odd)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "a"}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(4)),
			RenewTime: new(metav1.NewMicroTime(odd)), AcquireTime: new(metav1.NewMicroTime(odd)),
		},
	}
	for name, lease := range map[string]*coordinationv1.Lease{"all": lease, "none": {}} {
		t.Run(name, func(t *testing.T) {
			document, err := json.Marshal(lease)
			require.NoError(t, err)
			var want coordinationv1.Lease
			require.NoError(t, kjson.Unmarshal(document, &want))
			want.TypeMeta = metav1.TypeMeta{}
			before := lease.DeepCopy()
			got, err := normalized(lease)
			require.NoError(t, err)
			wantJSON, err := json.Marshal(&want)
			require.NoError(t, err)
			gotJSON, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, string(wantJSON), string(gotJSON))
			require.Equal(t, before, lease, "the caller's is not changed")
			gotLease, ok := got.(*coordinationv1.Lease)
			require.True(t, ok)
			if lease.Spec.RenewTime != nil {
				require.True(t, want.Spec.RenewTime.Time.Equal(gotLease.Spec.RenewTime.Time))
				require.True(t, want.DeletionTimestamp.Time.Equal(gotLease.DeletionTimestamp.Time))
				require.True(t, want.CreationTimestamp.Time.Equal(gotLease.CreationTimestamp.Time))
			}
		})
	}
}
