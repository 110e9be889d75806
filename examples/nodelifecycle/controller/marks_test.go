package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod of a node that is not ready is marked once in an episode. A refusal has
// it read first.
func TestMarksReadAPodThatTheAPIServerHasRefused(t *testing.T) {
	p := newParts(t, Config{})
	n := p.add("n", corev1.ConditionTrue)
	pod := p.objects.addPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", ResourceVersion: "1"},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	})
	require.Zero(t, p.marks.planNode(p.now, n), "the node is ready")
	p.show(n, p.node("n", corev1.ConditionUnknown))
	require.Equal(t, 1, p.marks.planNode(p.now, n))

	mark, ok := p.marks.start(p.now)
	require.True(t, ok)
	require.Equal(t, PodActionMark, mark.Action)
	refused := Result[*corev1.Pod]{Err: apierrors.NewConflict(corev1.Resource("pods"), "p", nil)}
	require.False(t, p.marks.finish(p.now, mark, refused))
	require.Equal(t, 1, p.Refused())
	p.marks.plan(p.now, pod)

	p.now = p.now.Add(p.config.Backoff.Longest())
	read, ok := p.marks.start(p.now)
	require.True(t, ok)
	require.Equal(t, PodActionRead, read.Action)
	live := pod.object.DeepCopy()
	live.ResourceVersion = "2"
	require.True(t, p.marks.noteRead(pod, read, live))
	require.Equal(t, 1, p.Stale())
	pod.object = live
	p.marks.finishRead(p.now, read, nil)

	mark, ok = p.marks.start(p.now)
	require.True(t, ok)
	require.Equal(t, PodActionMark, mark.Action)
	require.True(t, p.marks.finish(p.now, mark, Result[*corev1.Pod]{Object: live}))
	p.marks.plan(p.now, pod)
	_, ok = p.marks.start(p.now)
	require.False(t, ok, "its kubelet would write the opposite for ever")
	p.marks.forget("p")
	require.Zero(t, p.marks.queue.Len())
}
