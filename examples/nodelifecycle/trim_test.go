package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// What the cache keeps of an object is what the controller reads.
func TestTrimKeepsWhatIsRead(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "x", Namespace: "y", UID: "u", ResourceVersion: "7", Generation: 3,
		Labels:        map[string]string{"a": "b"},
		Annotations:   map[string]string{"large": "text"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone"}},
	}
	node := trimNode(&corev1.Node{
		ObjectMeta: meta,
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Unschedulable: true, Taints: []corev1.Taint{{Key: "k"}}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}, Images: make([]corev1.ContainerImage, 50)},
	})
	require.Empty(t, node.Annotations)
	require.Empty(t, node.ManagedFields)
	require.Empty(t, node.Status.Images)
	require.Equal(t, "7", node.ResourceVersion)
	require.Equal(t, meta.Labels, node.Labels, "zones are labels")
	require.True(t, node.Spec.Unschedulable)
	require.Len(t, node.Spec.Taints, 1)
	require.Len(t, node.Status.Conditions, 1)

	pod := trimPod(&corev1.Pod{
		ObjectMeta: meta,
		Spec:       corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 3), Tolerations: []corev1.Toleration{{Key: "k"}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}, PodIP: "10.0.0.1"},
	})
	require.Empty(t, pod.Labels)
	require.Empty(t, pod.Spec.Containers)
	require.Empty(t, pod.Status.PodIP)
	require.Equal(t, int64(3), pod.Generation)
	require.Equal(t, "n", pod.Spec.NodeName)
	require.Len(t, pod.Spec.Tolerations, 1)
	require.Len(t, pod.Status.Conditions, 1)
}

// kube-controller-manager is noticed by what it writes, once.
func TestRivalIsNoticed(t *testing.T) {
	start := time.Now()
	wrote := func(manager, fields string, at time.Time) *corev1.Node {
		node := &corev1.Node{}
		node.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields),
		}}
		return node
	}
	const taints, labels = `{"f:spec":{"f:taints":{}}}`, `{"f:metadata":{"f:labels":{}}}`
	for name, test := range map[string]struct {
		node    *corev1.Node
		noticed bool
	}{
		"its taints, now":            {wrote(rivalManager, taints, start.Add(time.Second)), true},
		"its taints, before we came": {wrote(rivalManager, taints, start.Add(-time.Second)), false},
		"its labels":                 {wrote(rivalManager, labels, start.Add(time.Second)), false},
		"our taints":                 {wrote(userAgent, taints, start.Add(time.Second)), false},
		"nothing":                    {&corev1.Node{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rival{logger: klog.Background(), since: start}
			trimmed, err := r.trim(test.node)
			require.NoError(t, err)
			require.Equal(t, test.noticed, r.warned.Load())
			require.Empty(t, trimmed.(*corev1.Node).ManagedFields)
		})
	}
}
