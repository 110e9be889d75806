package rollouts

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

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// snapshot returns a set with a pod on each of two nodes. The prefix is in all
// that clusters never have in common.
func snapshotOf(prefix string) snapshot {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: "agent", UID: types.UID(prefix + "set"), ResourceVersion: prefix + "1", Generation: 2,
	}}
	set.Status.NumberReady = 2
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	s := snapshot{set: set, revisions: []appsv1.ControllerRevision{{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-7c9", UID: types.UID(prefix + "revision"), ResourceVersion: prefix + "2",
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}, Revision: 3,
	}}}
	for _, node := range []string{"node-1", "node-2"} {
		s.pods = append(s.pods, corev1.Pod{
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

func factsOf(t *testing.T, s snapshot) facts {
	t.Helper()
	all, err := s.facts()
	require.NoError(t, err)
	return all
}

func between(t *testing.T, here, there snapshot) []string {
	t.Helper()
	return sidebyside.Compare("here", factsOf(t, here), "there", factsOf(t, there))
}

func TestWhatTwoClustersNeverShareIsNoDifference(t *testing.T) {
	here, there := snapshotOf("x"), snapshotOf("long-")
	there.pods[0], there.pods[1] = there.pods[1], there.pods[0]
	require.Empty(t, between(t, here, there))
	require.Greater(t, len(factsOf(t, here)), 30)
}

func TestEachDifferenceIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*snapshot)
		want   []string
	}{
		"a pod of another revision": {
			func(s *snapshot) { s.pods[1].Labels[appsv1.ControllerRevisionHashLabelKey] = "8d0" },
			[]string{`pod 1 on node-2: labels.controller-revision-hash: "7c9" with here, "8d0" with there`},
		},
		"a pod without its owner": {
			func(s *snapshot) { s.pods[0].OwnerReferences[0].UID = "of another" },
			[]string{`pod 1 on node-1: owners[0].uid: "that of the set" with here, "another" with there`},
		},
		"a pod with another order of tolerations": {
			func(s *snapshot) { s.pods[0].Spec.Tolerations[0].Key = "b" },
			[]string{`pod 1 on node-1: spec.tolerations[0].key: "a" with here, "b" with there`},
		},
		"a pod that is not ready": {
			func(s *snapshot) { s.pods[0].Status.Conditions = nil },
			[]string{`pod 1 on node-1: ready: "true" with here, "false" with there`},
		},
		"a pod that is being deleted": {
			func(s *snapshot) { s.pods[0].DeletionTimestamp = &metav1.Time{} },
			[]string{`pod 1 on node-1: terminating: "false" with here, "true" with there`},
		},
		"a status": {
			func(s *snapshot) { s.set.Status.NumberReady, s.set.Status.CollisionCount = 1, new(int32(1)) },
			[]string{
				`set: status.collisionCount: none with here, "1" with there`,
				`set: status.numberReady: "2" with here, "1" with there`,
			},
		},
		"a generation": {
			func(s *snapshot) { s.set.Generation++ },
			[]string{`set: generation: "2" with here, "3" with there`},
		},
		"bytes of a revision": {
			func(s *snapshot) { s.revisions[0].Data.Raw = []byte(`{"spec": {}}`) },
			[]string{`revision agent-7c9: data: "{\"spec\":{}}" with here, "{\"spec\": {}}" with there`},
		},
		"a number of a revision": {
			func(s *snapshot) { s.revisions[0].Revision = 4 },
			[]string{`revision agent-7c9: number: "3" with here, "4" with there`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := snapshotOf("x")
			test.change(&changed)
			require.Equal(t, test.want, between(t, snapshotOf("x"), changed))
		})
	}
}

func TestWhatOneClusterLacksIsADifference(t *testing.T) {
	changed := snapshotOf("x")
	changed.pods = changed.pods[:1]
	changed.revisions[0].Name = "agent-other"
	differences := between(t, snapshotOf("x"), changed)
	require.Contains(t, differences, `pods on node-2: "1" with here, none with there`)
	require.Contains(t, differences, `revision agent-7c9: number: "3" with here, none with there`)
	require.Contains(t, differences, `revision agent-other: number: none with here, "3" with there`)

	second := snapshotOf("x")
	second.pods[1].Spec.NodeName = "node-1"
	second.pods = append(second.pods, *second.pods[1].DeepCopy())
	second.pods[2].Spec.NodeName = ""
	differences = between(t, snapshotOf("x"), second)
	require.Contains(t, differences, `pods on node-1: "1" with here, "2" with there`)
	require.Contains(t, differences, `pods on no node: none with here, "1" with there`)
}

func TestDisturbances(t *testing.T) {
	before, after := snapshotOf("x"), snapshotOf("x")
	require.Empty(t, disturbances(before, after))

	added := *after.pods[0].DeepCopy()
	added.Name, added.UID, added.Spec.NodeName = "new", "new", "node-3"
	after.pods = append(after.pods, added)
	require.Empty(t, disturbances(before, after, "node-3"))
	require.Equal(t, []string{"pod new is new"}, disturbances(before, after, "node-4"))

	after.pods[0].UID = "restarted"
	after.pods[1].ResourceVersion = "later"
	after.revisions[0].DeletionTimestamp = &metav1.Time{}
	after.revisions = append(after.revisions, *after.revisions[0].DeepCopy())
	after.revisions[1].Name, after.revisions[1].UID = "agent-8d0", "second"
	require.Equal(t, strings.Split(`pod xnode-1 is gone
pod xnode-1 is new
pod xnode-2 was written to
revision agent-7c9 is terminating
revision agent-8d0 is new`, "\n"), disturbances(before, after, "node-3"))
}

// reachedGoal returns a goal and what reaches it. Three nodes have no taint,
// one keeps its pod, and one is cleared.
func reachedGoal() (goal, *appsv1.DaemonSet, []*corev1.Pod) {
	g := goal{image: image(2), generation: 4, nodes: map[string]corev1.TaintEffect{
		"a": "", "b": "", "c": "", "kept": corev1.TaintEffectNoSchedule, "cleared": corev1.TaintEffectNoExecute,
	}}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Generation: 4},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 4, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3,
			NumberReady: 3, NumberAvailable: 3, NumberMisscheduled: 1,
		},
	}
	var pods []*corev1.Pod
	for _, node := range []string{"a", "b", "c", "kept"} {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Image: image(2)}}},
			Status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return g, set, pods
}

func TestAGoalIsReachedOrSaysWhatIsMissing(t *testing.T) {
	g, set, pods := reachedGoal()
	require.NoError(t, g.missing(set, pods))
	for want, change := range map[string]func(g *goal, set *appsv1.DaemonSet, pods *[]*corev1.Pod){
		"pod agent-a has no node": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			(*pods)[0].Spec.NodeName = ""
		},
		"pod agent-b is on b, which is gone": func(g *goal, _ *appsv1.DaemonSet, _ *[]*corev1.Pod) { delete(g.nodes, "b") },
		"pod agent-c on c is terminating": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			(*pods)[2].DeletionTimestamp = &metav1.Time{}
		},
		"pod agent-c on c has the image": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			(*pods)[2].Spec.Containers[0].Image = image(1)
		},
		"pod agent-c on c is not ready": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			(*pods)[2].Status.Conditions[0].Status = corev1.ConditionFalse
		},
		"a has 0 pods, want 1": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) { *pods = (*pods)[1:] },
		"b has 2 pods, want 1": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			*pods = append(*pods, (*pods)[1])
		},
		"kept has 0 pods, want 1": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) { *pods = (*pods)[:3] },
		"cleared has 1 pods, want 0": func(_ *goal, _ *appsv1.DaemonSet, pods *[]*corev1.Pod) {
			more := (*pods)[0].DeepCopy()
			more.Spec.NodeName = "cleared"
			*pods = append(*pods, more)
		},
		"generation 4 of 5": func(g *goal, _ *appsv1.DaemonSet, _ *[]*corev1.Pod) { g.generation++ },
		"NumberUnavailable:1": func(_ *goal, set *appsv1.DaemonSet, _ *[]*corev1.Pod) {
			set.Status.NumberUnavailable = 1
		},
		"NumberMisscheduled:0": func(_ *goal, set *appsv1.DaemonSet, _ *[]*corev1.Pod) {
			set.Status.NumberMisscheduled = 0
		},
		"ObservedGeneration:3": func(_ *goal, set *appsv1.DaemonSet, _ *[]*corev1.Pod) {
			set.Status.ObservedGeneration = 3
		},
	} {
		g, set, pods := reachedGoal()
		change(&g, set, &pods)
		require.ErrorContains(t, g.missing(set, pods), want)
	}
}
