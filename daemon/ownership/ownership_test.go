package ownership_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// shippers is an owner with an UID and a selector.
func shippers() *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{}
	set.Name, set.Namespace, set.UID = "shipper", "logging", "set-1"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shipper"}}
	return set
}

func ownerOf(set *appsv1.DaemonSet) ownership.Owner {
	return ownership.Owner{
		Object: set, Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		Selector: set.Spec.Selector,
	}
}

// shipper is a pod of that owner.
func shipper(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.UID = name, "logging", types.UID("uid of "+name)
	pod.Labels = map[string]string{"app": "shipper"}
	reference := metav1.NewControllerRef(shippers(), ownerOf(shippers()).Kind)
	pod.OwnerReferences = []metav1.OwnerReference{*reference}
	return pod
}

func orphan(pod *corev1.Pod)     { pod.OwnerReferences = nil }
func unselected(pod *corev1.Pod) { pod.Labels["app"] = "another" }
func foreign(pod *corev1.Pod)    { pod.OwnerReferences[0].UID = "another" }
func leaving(pod *corev1.Pod) {
	now := metav1.Now()
	pod.DeletionTimestamp = &now
}

func edited(pod *corev1.Pod, edits ...func(*corev1.Pod)) *corev1.Pod {
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func TestClaimsFollowTheRulesOfKubeControllerManager(t *testing.T) {
	other := func(pod *corev1.Pod) { pod.Namespace = "other" }
	owned := func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil } // no controller
	type edits = []func(*corev1.Pod)
	keep := ownership.Claim{Action: ownership.ActionKeep, Reason: ownership.ReasonControlled}
	adopt := ownership.Claim{Action: ownership.ActionAdopt, Reason: ownership.ReasonOrphaned}
	release := ownership.Claim{Action: ownership.ActionRelease, Reason: ownership.ReasonUnselected}
	ignore := func(reason ownership.Reason) ownership.Claim {
		return ownership.Claim{Action: ownership.ActionIgnore, Reason: reason}
	}
	theirs, left := ignore(ownership.ReasonOtherController), ignore(ownership.ReasonOwnerTerminating)
	for _, c := range []struct {
		name   string
		edits  edits
		living ownership.Claim
		going  ownership.Claim // the same when the owner is being deleted
	}{
		{"ours", nil, keep, keep},
		{"ours, going", edits{leaving}, keep, keep},
		{"ours, not selected", edits{unselected}, release, left},
		{"of another", edits{foreign}, theirs, theirs},
		{"of another, not selected", edits{foreign, unselected}, theirs, theirs},
		{"orphan", edits{orphan}, adopt, left},
		{"orphan with an owner", edits{owned}, adopt, left},
		{"orphan, not selected", edits{orphan, unselected},
			ignore(ownership.ReasonUnselected), ignore(ownership.ReasonUnselected)},
		{"orphan, going", edits{orphan, leaving}, ignore(ownership.ReasonObjectTerminating), left},
		{"orphan elsewhere", edits{orphan, other}, ignore(ownership.ReasonOtherNamespace), left},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := shippers()
			own, err := ownership.NewOwnership(ownerOf(set))
			require.NoError(t, err)
			pod := edited(shipper("p"), c.edits...)
			require.Equal(t, c.living, own.Claim(pod))
			now := metav1.Now()
			set.DeletionTimestamp = &now
			require.Equal(t, c.going, own.Claim(pod))
		})
	}
}

func TestAnOwnerThatIsClusterWideClaimsInAnyNamespace(t *testing.T) {
	set := shippers()
	set.Namespace = ""
	own, err := ownership.NewOwnership(ownerOf(set))
	require.NoError(t, err)
	require.Equal(t, ownership.ActionAdopt, own.Claim(edited(shipper("p"), orphan)).Action)
}

func TestRevisionsAreClaimedLikePods(t *testing.T) {
	own, err := ownership.NewOwnership(ownerOf(shippers()))
	require.NoError(t, err)
	revision := &appsv1.ControllerRevision{ObjectMeta: shipper("r").ObjectMeta}
	require.Equal(t, ownership.ActionKeep, own.Claim(revision).Action)
	revision.OwnerReferences = nil
	require.Equal(t, ownership.ActionAdopt, own.Claim(revision).Action)
}

func TestAnEmptySelectorOwnsNothing(t *testing.T) {
	owner := ownerOf(shippers())
	owner.Selector = &metav1.LabelSelector{}
	_, err := ownership.NewOwnership(owner)
	require.ErrorIs(t, err, ownership.ErrEmptySelector)
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)

	owner.Selector = nil // all pods would be released
	_, err = ownership.NewOwnership(owner)
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)

	owner.Selector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
	}
	_, err = ownership.NewOwnership(owner)
	require.ErrorContains(t, err, "Near")
	_, err = ownership.NewOwnership(ownership.Owner{})
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
}

// An own kind is not checked by the API server. Its pods would be released as
// soon as they are created, and created again.
func TestLabelsThatTheOwnerDoesNotSelectAreRefused(t *testing.T) {
	owner := ownerOf(shippers())
	require.NoError(t, owner.ValidateLabels(map[string]string{"app": "shipper", "more": "too"}))
	for _, labels := range []map[string]string{{"app": "typo"}, nil} {
		require.ErrorIs(t, owner.ValidateLabels(labels), ownership.ErrInvalidOwner)
	}
	owner.Selector = &metav1.LabelSelector{}
	err := owner.ValidateLabels(map[string]string{"app": "shipper"})
	require.ErrorIs(t, err, ownership.ErrEmptySelector)
}

func TestOwnersLackNothingThatAReferenceNeeds(t *testing.T) {
	for want, spoil := range map[string]func(*ownership.Owner){
		"the owner has no Object": func(o *ownership.Owner) { o.Object = nil },
		`name "" and UID "u"`:     func(o *ownership.Owner) { o.Object = &metav1.ObjectMeta{UID: "u"} },
		`name "a" and UID ""`:     func(o *ownership.Owner) { o.Object = &metav1.ObjectMeta{Name: "a"} },
		"/, Kind=DaemonSet":       func(o *ownership.Owner) { o.Kind.Version, o.Kind.Group = "", "" },
		"want version and kind":   func(o *ownership.Owner) { o.Kind.Kind = "" },
	} {
		owner := ownerOf(shippers())
		require.NoError(t, owner.ValidateReference())
		spoil(&owner)
		for _, err := range []error{owner.ValidateReference(), owner.Validate()} {
			require.ErrorIs(t, err, ownership.ErrInvalidOwner)
			require.ErrorContains(t, err, want)
		}
	}
	incomplete := ownership.Owner{Object: &appsv1.DaemonSet{}}
	for _, want := range []string{"UID", "kind", "Selector"} {
		require.ErrorContains(t, incomplete.Validate(), want)
	}
}

func TestAdoptedAndReleasedAgainIsAsBefore(t *testing.T) {
	own, err := ownership.NewOwnership(ownerOf(shippers()))
	require.NoError(t, err)
	before := edited(shipper("p"), orphan)
	before.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n",
		UID: "node"}}

	patch, err := own.AdoptPatch(before)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid of p","ownerReferences":[{
		"apiVersion":"apps/v1","kind":"DaemonSet","name":"shipper","uid":"set-1",
		"controller":true,"blockOwnerDeletion":true}]}}`, string(patch))
	adopted := patched(t, before, patch)
	require.Len(t, adopted.OwnerReferences, 2)
	require.True(t, metav1.IsControlledBy(adopted, shippers()))

	patch, err = own.ReleasePatch(adopted)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid of p","ownerReferences":[
		{"$patch":"delete","uid":"set-1"}]}}`, string(patch))
	require.Equal(t, before, patched(t, adopted, patch))
}

func patched(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(pod)
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	require.NoError(t, err)
	result := &corev1.Pod{}
	require.NoError(t, json.Unmarshal(after, result))
	return result
}

func TestOwnersAreNamedInMessages(t *testing.T) {
	require.Equal(t, "DaemonSet logging/shipper", ownerOf(shippers()).String())
	require.Empty(t, ownership.Owner{}.String())
	require.NoError(t, ownerOf(shippers()).Validate())
}
