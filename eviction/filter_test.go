package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

func mirror(pod *corev1.Pod) {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "5e3b"}
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func controlledBy(kind string, controller *bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{Kind: kind,
			Controller: controller})
	}
}

func TestE7PodsThatCanBeLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change                      func(*corev1.Pod)
		isMirror, isFinished, isOfD bool
	}{
		"a pod":           {change: func(*corev1.Pod) {}},
		"a mirror pod":    {change: mirror, isMirror: true},
		"a pod that runs": {change: inPhase(corev1.PodRunning)},
		"a pod that has succeeded": {change: inPhase(corev1.PodSucceeded),
			isFinished: true},
		"a pod that has failed": {change: inPhase(corev1.PodFailed), isFinished: true},
		"a pod of a DaemonSet": {change: controlledBy("DaemonSet", ptr.To(true)),
			isOfD: true},
		"a pod of a ReplicaSet":                   {change: controlledBy("ReplicaSet", ptr.To(true))},
		"a pod that a DaemonSet lists":            {change: controlledBy("DaemonSet", nil)},
		"a pod that a DaemonSet does not control": {change: controlledBy("DaemonSet", ptr.To(false))},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("p")
			test.change(pod)
			require.Equal(t, test.isMirror, eviction.IsMirrorPod(pod))
			require.Equal(t, test.isFinished, eviction.IsTerminal(pod))
			require.Equal(t, test.isOfD, eviction.IsDaemonSetPod(pod))
		})
	}
}

// A pod that is exempt only for a while, for example as long as it runs, leaves
// when it is exempt no more.
func TestE7ExemptionIsDecidedWithEachObservation(t *testing.T) {
	c := runningWith(t, eviction.Config{Exempt: eviction.IsTerminal},
		newPod("p", inPhase(corev1.PodSucceeded)))
	c.node(10, "n1", "a@10")
	c.idle(20)
	c.ObservePod(at(20), newPod("p", inPhase(corev1.PodRunning)))
	c.start(20, "p")
}

// An importer may see other tolerations than a pod has, in the tracker and when
// an action decides again.
func TestE1TolerationsAreThoseThatTheCallerSees(t *testing.T) {
	autonomous := func(pod *corev1.Pod) []corev1.Toleration {
		if pod.Labels["autonomous"] == "yes" {
			return append(tolerationList("a:600"), pod.Spec.Tolerations...)
		}
		return pod.Spec.Tolerations
	}
	label := func(p *corev1.Pod) { p.Labels = map[string]string{"autonomous": "yes"} }
	c := runningWith(t, eviction.Config{Tolerations: autonomous},
		newPod("p", label, tolerates("a:60")), newPod("q", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.leavesAt("q", 70)
	c.leavesAt("p", 610)
	task := c.startOne(70, "q")
	require.Equal(t, at(70), task.Reevaluate(newPod("q", tolerates("a:60")), newNode("n1", "a@10"), at(71)).Due)
	require.Equal(t, at(610), task.Reevaluate(newPod("q", label), newNode("n1", "a@10"), at(71)).Due)
	c.pod(72, newPod("p", tolerates("a:60")))
	c.leavesAt("p", 70)
}
