package apiserver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// A lease that is copied is the one that JSON would have made.
func TestLeaseIsNormalizedAsByJSON(t *testing.T) {
	odd := time.Date(2026, 11, 23, 1, 2, 3, 456789123, time.UTC)
	lease := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "a", UID: "u", ResourceVersion: "7", Labels: map[string]string{"k": "v"},
			CreationTimestamp: metav1.NewTime(odd), DeletionTimestamp: ptr.To(metav1.NewTime(odd)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "a"}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("a"), LeaseDurationSeconds: ptr.To(int32(4)),
			RenewTime: ptr.To(metav1.NewMicroTime(odd)), AcquireTime: ptr.To(metav1.NewMicroTime(odd)),
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

// Real servers refuse a second controller, so that two owners that adopt an
// orphan at the same time cannot both have it.
func TestAnObjectHasOneController(t *testing.T) {
	owner := func(name string, controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: "u", Controller: &controls}
	}
	object := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	object.OwnerReferences = []metav1.OwnerReference{owner("a", true), owner("b", false)}
	require.NoError(t, validate("", object))
	object.OwnerReferences = append(object.OwnerReferences, owner("c", true))
	err := validate("", object)
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, "metadata.ownerReferences")
}
