package rollouts

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
