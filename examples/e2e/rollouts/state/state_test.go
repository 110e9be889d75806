package state

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// snapshot returns a set with a pod on each of two nodes. The prefix is in all
// that clusters never have in common.
func snapshot(prefix string) Snapshot {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "agent", UID: types.UID(prefix + "set"), ResourceVersion: prefix + "1", Generation: 2,
	}}
	set.Status.NumberReady = 2
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	s := Snapshot{Set: set, Revisions: []appsv1.ControllerRevision{{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-7c9", UID: types.UID(prefix + "revision"), ResourceVersion: prefix + "2",
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}, Revision: 3,
	}}}
	for _, node := range []string{"node-1", "node-2"} {
		s.Pods = append(s.Pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: prefix + node, UID: types.UID(prefix + node), ResourceVersion: prefix + "3",
				CreationTimestamp: metav1.Time{Time: time.Unix(int64(len(prefix)), 0)},
				Labels:            map[string]string{"app": "agent", appsv1.ControllerRevisionHashLabelKey: "7c9"},
				OwnerReferences:   []metav1.OwnerReference{owner},
			},
			Spec: corev1.PodSpec{NodeName: node, Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: prefix,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return s
}

func facts(t *testing.T, s Snapshot) Facts {
	t.Helper()
	all, err := s.Facts()
	require.NoError(t, err)
	return all
}

func TestWhatTwoClustersNeverShareIsNoDifference(t *testing.T) {
	here, there := snapshot("x"), snapshot("long-")
	there.Pods[0], there.Pods[1] = there.Pods[1], there.Pods[0]
	require.Empty(t, Compare(facts(t, here), facts(t, there)))
	require.Greater(t, len(facts(t, here)), 30)
}

func TestEachDifferenceIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Snapshot)
		want   []Difference
	}{
		"a pod of another revision": {
			func(s *Snapshot) { s.Pods[1].Labels[appsv1.ControllerRevisionHashLabelKey] = "8d0" },
			[]Difference{{"pod 1 on node-2: labels.controller-revision-hash", `"7c9"`, `"8d0"`}},
		},
		"a pod without its owner": {
			func(s *Snapshot) { s.Pods[0].OwnerReferences[0].UID = "of another" },
			[]Difference{{"pod 1 on node-1: owners[0].uid", `"that of the set"`, `"another"`}},
		},
		"a pod with another order of tolerations": {
			func(s *Snapshot) { s.Pods[0].Spec.Tolerations[0].Key = "b" },
			[]Difference{{"pod 1 on node-1: spec.tolerations[0].key", `"a"`, `"b"`}},
		},
		"a pod that is not ready": {
			func(s *Snapshot) { s.Pods[0].Status.Conditions = nil },
			[]Difference{{"pod 1 on node-1: ready", `"true"`, `"false"`}},
		},
		"a pod that is being deleted": {
			func(s *Snapshot) { s.Pods[0].DeletionTimestamp = &metav1.Time{} },
			[]Difference{{"pod 1 on node-1: terminating", `"false"`, `"true"`}},
		},
		"a status": {
			func(s *Snapshot) { s.Set.Status.NumberReady, s.Set.Status.CollisionCount = 1, new(int32(1)) },
			[]Difference{
				{"set: status.collisionCount", "none", `"1"`}, {"set: status.numberReady", `"2"`, `"1"`},
			},
		},
		"a generation": {
			func(s *Snapshot) { s.Set.Generation++ },
			[]Difference{{"set: generation", `"2"`, `"3"`}},
		},
		"bytes of a revision": {
			func(s *Snapshot) { s.Revisions[0].Data.Raw = []byte(`{"spec": {}}`) },
			[]Difference{{"revision agent-7c9: data", `"{\"spec\":{}}"`, `"{\"spec\": {}}"`}},
		},
		"a number of a revision": {
			func(s *Snapshot) { s.Revisions[0].Revision = 4 },
			[]Difference{{"revision agent-7c9: number", `"3"`, `"4"`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := snapshot("x")
			test.change(&changed)
			require.Equal(t, test.want, Compare(facts(t, snapshot("x")), facts(t, changed)))
		})
	}
}

func TestWhatOneClusterLacksIsADifference(t *testing.T) {
	changed := snapshot("x")
	changed.Pods = changed.Pods[:1]
	changed.Revisions[0].Name = "agent-other"
	differences := Compare(facts(t, snapshot("x")), facts(t, changed))
	require.Contains(t, differences, Difference{"pods on node-2", `"1"`, none})
	require.Contains(t, differences, Difference{"revision agent-7c9: number", `"3"`, none})
	require.Contains(t, differences, Difference{"revision agent-other: number", none, `"3"`})

	second := snapshot("x")
	second.Pods[1].Spec.NodeName = "node-1"
	second.Pods = append(second.Pods, *second.Pods[1].DeepCopy())
	second.Pods[2].Spec.NodeName = ""
	differences = Compare(facts(t, snapshot("x")), facts(t, second))
	require.Contains(t, differences, Difference{"pods on node-1", `"1"`, `"2"`})
	require.Contains(t, differences, Difference{"pods on no node", none, `"1"`})
}

func TestDisturbances(t *testing.T) {
	before, after := snapshot("x"), snapshot("x")
	require.Empty(t, Disturbances(before, after))

	added := *after.Pods[0].DeepCopy()
	added.Name, added.UID, added.Spec.NodeName = "new", "new", "node-3"
	after.Pods = append(after.Pods, added)
	require.Empty(t, Disturbances(before, after, "node-3"))
	require.Equal(t, []string{"pod new is new"}, Disturbances(before, after, "node-4"))

	after.Pods[0].UID = "restarted"
	after.Pods[1].ResourceVersion = "later"
	after.Revisions[0].DeletionTimestamp = &metav1.Time{}
	after.Revisions = append(after.Revisions, *after.Revisions[0].DeepCopy())
	after.Revisions[1].Name, after.Revisions[1].UID = "agent-8d0", "second"
	require.Equal(t, strings.Split(`pod xnode-1 is gone
pod xnode-1 is new
pod xnode-2 was written to
revision agent-7c9 is terminating
revision agent-8d0 is new`, "\n"), Disturbances(before, after, "node-3"))
}
