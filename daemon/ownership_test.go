package daemon_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kubelife/lifecycle/daemon"
)

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
	owned := func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil } // an owner, no controller
	type edits = []func(*corev1.Pod)
	for _, c := range []struct {
		name   string
		edits  edits
		living daemon.Claim
		going  daemon.Claim // the same when the owner is being deleted
	}{
		{"ours", nil, daemon.Claim{Action: daemon.Ours, Reason: daemon.Controlled}, daemon.Claim{Action: daemon.Ours, Reason: daemon.Controlled}},
		{"ours, going", edits{leaving}, daemon.Claim{Action: daemon.Ours, Reason: daemon.Controlled}, daemon.Claim{Action: daemon.Ours, Reason: daemon.Controlled}},
		{"ours, not selected", edits{unselected}, daemon.Claim{Action: daemon.Release, Reason: daemon.Unselected}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OwnerTerminating}},
		{"of another", edits{foreign}, daemon.Claim{Action: daemon.Leave, Reason: daemon.ControlledByOther}, daemon.Claim{Action: daemon.Leave, Reason: daemon.ControlledByOther}},
		{"of another, not selected", edits{foreign, unselected}, daemon.Claim{Action: daemon.Leave, Reason: daemon.ControlledByOther}, daemon.Claim{Action: daemon.Leave, Reason: daemon.ControlledByOther}},
		{"orphan", edits{orphan}, daemon.Claim{Action: daemon.Adopt, Reason: daemon.Orphaned}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OwnerTerminating}},
		{"orphan with an owner", edits{owned}, daemon.Claim{Action: daemon.Adopt, Reason: daemon.Orphaned}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OwnerTerminating}},
		{"orphan, not selected", edits{orphan, unselected}, daemon.Claim{Action: daemon.Leave, Reason: daemon.Unselected}, daemon.Claim{Action: daemon.Leave, Reason: daemon.Unselected}},
		{"orphan, going", edits{orphan, leaving}, daemon.Claim{Action: daemon.Leave, Reason: daemon.ObjectTerminating}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OwnerTerminating}},
		{"orphan elsewhere", edits{orphan, other}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OtherNamespace}, daemon.Claim{Action: daemon.Leave, Reason: daemon.OwnerTerminating}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := shippers("shipper:1")
			ownership, err := daemon.NewOwnership(daemon.OwnerOf(set))
			require.NoError(t, err)
			pod := edited(shipper("p", "h"), c.edits...)
			require.Equal(t, c.living, ownership.Claim(pod))
			now := metav1.Now()
			set.DeletionTimestamp = &now
			require.Equal(t, c.going, ownership.Claim(pod))
		})
	}
}

func TestAnOwnerThatIsClusterWideClaimsInAnyNamespace(t *testing.T) {
	set := shippers("shipper:1")
	set.Namespace = ""
	ownership, err := daemon.NewOwnership(daemon.OwnerOf(set))
	require.NoError(t, err)
	require.Equal(t, daemon.Adopt, ownership.Claim(edited(shipper("p", "h"), orphan)).Action)
}

func TestRevisionsAreClaimedLikePods(t *testing.T) {
	set := shippers("shipper:1")
	ownership, err := daemon.NewOwnership(daemon.OwnerOf(set))
	require.NoError(t, err)
	revision := recorded(t, set, 1, "")
	require.Equal(t, daemon.Ours, ownership.Claim(revision).Action)
	revision.OwnerReferences = nil
	require.Equal(t, daemon.Adopt, ownership.Claim(revision).Action)
}

func TestAnEmptySelectorOwnsNothing(t *testing.T) {
	set := shippers("shipper:1")
	set.Spec.Selector = &metav1.LabelSelector{}
	_, err := daemon.NewOwnership(daemon.OwnerOf(set))
	require.ErrorIs(t, err, daemon.ErrSelectsAll)

	set.Spec.Selector = nil // all pods would be released
	_, err = daemon.NewOwnership(daemon.OwnerOf(set))
	require.ErrorIs(t, err, daemon.ErrInvalidOwner)

	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "another"}} // those that are made would be
	_, err = daemon.NewOwnership(daemon.OwnerOf(set))
	require.ErrorIs(t, err, daemon.ErrInvalidOwner)

	set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	_, err = daemon.NewOwnership(daemon.OwnerOf(set))
	require.ErrorContains(t, err, "Near")
	_, err = daemon.NewOwnership(daemon.Owner{})
	require.Error(t, err)
}

func TestAdoptedAndReleasedAgainIsAsBefore(t *testing.T) {
	ownership, err := daemon.NewOwnership(daemon.OwnerOf(shippers("shipper:1")))
	require.NoError(t, err)
	before := edited(shipper("p", "h"), orphan)
	before.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "node"}}

	patch, err := ownership.AdoptPatch(before)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid of p","ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"shipper","uid":"set-1","controller":true,"blockOwnerDeletion":true}]}}`, string(patch))
	adopted := patched(t, before, patch)
	require.Len(t, adopted.OwnerReferences, 2)
	require.True(t, metav1.IsControlledBy(adopted, shippers("")))

	patch, err = ownership.ReleasePatch(adopted)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid of p","ownerReferences":[{"$patch":"delete","uid":"set-1"}]}}`, string(patch))
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

func TestOwnersSayWhoTheyAre(t *testing.T) {
	require.Equal(t, "DaemonSet logging/shipper", daemon.OwnerOf(shippers("")).String())
	require.Empty(t, daemon.Owner{}.String())
	require.NoError(t, daemon.OwnerOf(shippers("")).Validate())
	require.Error(t, daemon.OwnerOf(&appsv1.DaemonSet{}).Validate())
}
