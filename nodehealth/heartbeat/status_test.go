package heartbeat

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var reportTime = time.Date(2026, time.May, 1, 10, 0, 0, 0, time.UTC)

// fullStatus sets every field. Its variants have no value in common.
func fullStatus(variant string) corev1.NodeStatus {
	yes := variant == "b"
	quantity := resource.MustParse(map[string]string{"a": "1", "b": "2"}[variant])
	return corev1.NodeStatus{
		Capacity:    corev1.ResourceList{"cpu": quantity},
		Allocatable: corev1.ResourceList{"memory": quantity},
		Phase:       corev1.NodePhase(variant),
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionStatus(variant),
			Reason: variant, Message: variant,
		}},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: variant},
			{Type: corev1.NodeInternalIP, Address: "fd00::" + variant},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{
			KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(variant[0])},
		},
		NodeInfo:         corev1.NodeSystemInfo{KubeletVersion: variant},
		Images:           []corev1.ContainerImage{{Names: []string{variant}, SizeBytes: 1}},
		VolumesInUse:     []corev1.UniqueVolumeName{corev1.UniqueVolumeName(variant)},
		VolumesAttached:  []corev1.AttachedVolume{{Name: corev1.UniqueVolumeName(variant)}},
		Config:           &corev1.NodeConfigStatus{Error: variant},
		RuntimeHandlers:  []corev1.NodeRuntimeHandler{{Name: variant}},
		Features:         &corev1.NodeFeatures{SupplementalGroupsPolicy: &yes},
		DeclaredFeatures: []string{variant},
	}
}

// reporter knows a node on the API server, about which it has said that.
func reporter(status corev1.NodeStatus, said corev1.NodeStatus) *statusReport {
	r := &statusReport{mentioned: mentionedBy(&said)}
	r.observe(
		reportTime, &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, Status: status}, "u",
	)
	return r
}

// reported applies what r would send, and fails unless r has found that it
// must.
func reported(t *testing.T, r *statusReport, desired corev1.NodeStatus) corev1.NodeStatus {
	t.Helper()
	changed, err := r.changed(&desired)
	require.NoError(t, err)
	require.True(t, changed)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, Status: *r.status.DeepCopy(),
	}
	patch, err := r.patch("u", &desired, reportTime)
	require.NoError(t, err)
	patched, err := patchedNode(node, patch)
	require.NoError(t, err)
	return patched.Status
}

// withTimes returns a status as it is after its first report.
func withTimes(status corev1.NodeStatus) corev1.NodeStatus {
	status = *status.DeepCopy()
	for i := range status.Conditions {
		status.Conditions[i].LastHeartbeatTime = metav1.NewTime(reportTime)
		status.Conditions[i].LastTransitionTime = metav1.NewTime(reportTime)
	}
	return status
}

func requireStatus(t *testing.T, want, got corev1.NodeStatus) {
	t.Helper()
	if !equality.Semantic.DeepEqual(want, got) {
		wanted, _ := json.Marshal(want)
		found, _ := json.Marshal(got)
		require.JSONEq(t, string(wanted), string(found))
		require.Fail(t, "differs in a way that JSON does not show")
	}
}

func TestStatusPatchBringsEveryFieldButVolumesAttached(t *testing.T) {
	full := reflect.ValueOf(fullStatus("a"))
	for i := range full.NumField() {
		require.False(t, full.Field(i).IsZero(),
			"fullStatus does not mention %s, which is new", full.Type().Field(i).Name)
	}
	for name, base := range map[string]corev1.NodeStatus{
		"nothing": {}, "something else": withTimes(fullStatus("a")),
	} {
		t.Run("from "+name, func(t *testing.T) {
			got := reported(t, reporter(base, base), fullStatus("b"))
			want := withTimes(fullStatus("b"))
			want.VolumesAttached = base.VolumesAttached
			requireStatus(t, want, got)
			changed, err := reporter(got, base).changed(ptr.To(fullStatus("b")))
			require.NoError(t, err)
			require.False(t, changed, "and is then content")
		})
	}
}

func TestStatusPatchLeavesWhatItDoesNotMention(t *testing.T) {
	base := withTimes(fullStatus("a"))
	base.Conditions = append(
		base.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: "False"},
	)
	base.Capacity["example.com/gpu"] = resource.MustParse("2")
	base.Allocatable["example.com/gpu"] = resource.MustParse("2")
	desired := corev1.NodeStatus{
		Conditions:  fullStatus("b").Conditions,
		Capacity:    fullStatus("b").Capacity,
		Allocatable: fullStatus("b").Allocatable,
	}
	want := *base.DeepCopy()
	want.Conditions[0] = withTimes(fullStatus("b")).Conditions[0]
	want.Capacity["cpu"], want.Allocatable["memory"] = resource.MustParse("2"), resource.MustParse("2")
	requireStatus(t, want, reported(t, reporter(base, corev1.NodeStatus{}), desired))

	changed, err := reporter(base, base).changed(&corev1.NodeStatus{})
	require.NoError(t, err)
	require.False(t, changed, "a status that mentions nothing withdraws nothing")
}

func TestStatusPatchRemovesWhatItHasSaidAndSaysNoMore(t *testing.T) {
	said := withTimes(fullStatus("a"))
	said.Conditions = append(said.Conditions, corev1.NodeCondition{Type: "Ours", Status: "True"})
	said.Capacity["example.com/ours"] = resource.MustParse("2")
	said.Allocatable["example.com/ours"] = resource.MustParse("2")
	base := *said.DeepCopy()
	base.Conditions = append(base.Conditions, corev1.NodeCondition{Type: "Foreign", Status: "True"})
	base.Capacity["example.com/foreign"] = resource.MustParse("2")

	desired := fullStatus("a")
	desired.Images = []corev1.ContainerImage{}
	desired.Config = &corev1.NodeConfigStatus{Active: &corev1.NodeConfigSource{}}
	got := reported(t, reporter(base, said), desired)

	require.Equal(t, []corev1.NodeConditionType{corev1.NodeReady, "Foreign"}, conditionTypes(got))
	require.ElementsMatch(
		t, []corev1.ResourceName{"cpu", "example.com/foreign"}, slices.Collect(maps.Keys(got.Capacity)),
	)
	require.ElementsMatch(
		t, []corev1.ResourceName{"memory"}, slices.Collect(maps.Keys(got.Allocatable)),
	)
	require.Empty(t, got.Images, "an empty list clears")
	require.Empty(t, got.Config.Error, "so does a member that is gone")
	require.NotNil(t, got.Config.Active)
}

func conditionTypes(status corev1.NodeStatus) []corev1.NodeConditionType {
	var kinds []corev1.NodeConditionType
	for _, condition := range status.Conditions {
		kinds = append(kinds, condition.Type)
	}
	return kinds
}

func TestStatusPatchTimes(t *testing.T) {
	old := metav1.NewTime(reportTime.Add(-time.Hour))
	condition := func(status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: corev1.NodeReady, Status: status, Reason: reason,
			LastHeartbeatTime: old, LastTransitionTime: old,
		}
	}
	for _, test := range []struct {
		name       string
		base, want corev1.NodeCondition
		transition time.Time
	}{
		{"same status", condition("True", "r"), condition("True", "r"), old.UTC()},
		{"another reason", condition("True", "r"), condition("True", ""), old.UTC()},
		{"another status", condition("Unknown", "r"), condition("True", "r"), reportTime},
		{
			"no time known", corev1.NodeCondition{Type: corev1.NodeReady, Status: "True"},
			condition("True", "r"), reportTime,
		},
		{"not there", corev1.NodeCondition{Type: "Other"}, condition("True", "r"), reportTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reporter(
				corev1.NodeStatus{Conditions: []corev1.NodeCondition{test.base}}, corev1.NodeStatus{},
			)
			patch, err := r.patch(
				"u", &corev1.NodeStatus{Conditions: []corev1.NodeCondition{test.want}}, reportTime,
			)
			require.NoError(t, err)
			node, err := patchedNode(&corev1.Node{Status: r.status}, patch)
			require.NoError(t, err)
			got, ok := findCondition(node.Status.Conditions, corev1.NodeReady)
			require.True(t, ok)
			require.Equal(t, reportTime, got.LastHeartbeatTime.UTC())
			require.Equal(t, test.transition, got.LastTransitionTime.UTC())
			require.Equal(t, test.want.Status, got.Status)
			require.Equal(t, test.want.Reason, got.Reason, "also when it is empty now")
		})
	}
}

func TestStatusPatchIsGuardedAndSmall(t *testing.T) {
	base := withTimes(fullStatus("a"))
	desired := fullStatus("a")
	patch, err := reporter(base, base).patch("u", &desired, reportTime.Add(time.Minute))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"metadata": {"uid": "u", "resourceVersion": "7"},
		"status": {"conditions": [{
			"type": "Ready", "status": "a", "reason": "a", "message": "a",
			"lastHeartbeatTime": "2026-05-01T10:01:00Z", "lastTransitionTime": "2026-05-01T10:00:00Z"
		}]}
	}`, string(patch), "on the period, conditions and nothing else")
}

func TestStatusPatchWhoseAnswerWasLostIsRemembered(t *testing.T) {
	r := reporter(corev1.NodeStatus{}, corev1.NodeStatus{})
	with := corev1.NodeStatus{
		Capacity: corev1.ResourceList{"cpu": resource.MustParse("1"), "x": resource.MustParse("1")},
	}
	patch, err := r.patch("u", &with, reportTime)
	require.NoError(t, err)
	node, err := patchedNode(&corev1.Node{}, patch)
	require.NoError(t, err)

	// The server has it, we do not know; and then x is not wanted any more.
	r.forget()
	node.ResourceVersion = "8"
	require.True(t, r.observe(reportTime, node, "u"))
	without := corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	changed, err := r.changed(&without)
	require.NoError(t, err)
	require.True(t, changed)
}

func TestStatusChangesThatAreReasonsToReport(t *testing.T) {
	base := corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: "A", Status: "True", Reason: "r", Message: "m"}, {Type: "B", Status: "False"},
	}}
	for name, test := range map[string]struct {
		change func(a, b *corev1.NodeCondition)
		report bool
	}{
		"nothing": {func(_, _ *corev1.NodeCondition) {}, false},
		"times": {func(a, _ *corev1.NodeCondition) {
			a.LastHeartbeatTime = metav1.NewTime(reportTime)
			a.LastTransitionTime = metav1.NewTime(reportTime)
		}, false},
		"order":   {func(a, b *corev1.NodeCondition) { *a, *b = *b, *a }, false},
		"status":  {func(a, _ *corev1.NodeCondition) { a.Status = "Unknown" }, true},
		"reason":  {func(a, _ *corev1.NodeCondition) { a.Reason = "" }, true},
		"message": {func(a, _ *corev1.NodeCondition) { a.Message = "n" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			desired := base.DeepCopy()
			test.change(&desired.Conditions[0], &desired.Conditions[1])
			changed, err := reporter(base, base).changed(desired)
			require.NoError(t, err)
			require.Equal(t, test.report, changed)
		})
	}
}

func TestStatusThatTheCallerChangesInPlaceIsNoticed(t *testing.T) {
	status := fullStatus("a")
	r := reporter(corev1.NodeStatus{}, corev1.NodeStatus{})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "8"}, Status: reported(t, r, status),
	}
	require.NoError(t, r.answered(reportTime, node, &status))
	status.Images[0].SizeBytes++
	changed, err := r.changed(&status)
	require.NoError(t, err)
	require.True(t, changed)
}

// A cache has each status in memory already.
func TestStatusOfTheCacheReplacesThatOfTheAnswer(t *testing.T) {
	node := func(uid types.UID, version string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			}},
		}
	}
	answer := node("u", "7")
	var r statusReport
	require.NoError(t, r.answered(reportTime, answer, &answer.Status))
	require.Same(t, &answer.Status.Conditions[0], &r.status.Conditions[0])
	for _, other := range []*corev1.Node{node("u", "6"), node("other", "7")} {
		require.True(t, r.observe(reportTime, other, "u"), "it is older, or of another node")
		require.Same(t, &answer.Status.Conditions[0], &r.status.Conditions[0])
	}
	cached := node("u", "7")
	require.True(t, r.observe(reportTime, cached, "u"))
	require.Same(t, &cached.Status.Conditions[0], &r.status.Conditions[0])
}

// The API server's store went back to a backup: an older version in the cache
// is the truth, at once if the cache had the newer one.
func TestStatusOfARestoredNodeIsTheTruth(t *testing.T) {
	node := func(version string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: version}}
	}
	answered := func() (r statusReport) {
		require.NoError(t, r.answered(reportTime, node("7"), &corev1.NodeStatus{}))
		return r
	}
	r := answered()
	require.True(t, r.observe(reportTime.Add(2*time.Minute-1), node("5"), "u"))
	require.Equal(t, "7", r.version, "the cache is late")
	require.True(t, r.observe(reportTime.Add(2*time.Minute), node("5"), "u"))
	require.Equal(t, "5", r.version)

	r = answered()
	require.True(t, r.observe(reportTime, node("7"), "u"))
	require.True(t, r.observe(reportTime, node("5"), "u"))
	require.Equal(t, "5", r.version)
	require.False(t, r.observe(reportTime, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{UID: "former", ResourceVersion: "3"},
	}, "u"), "the Node is that of before")
}
