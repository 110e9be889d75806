package edge_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
)

// What the cache keeps of an object is what the controller reads.
func TestTrimKeepsWhatIsRead(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "x", Namespace: "y", UID: "u", ResourceVersion: "7", Generation: 3,
		Labels:        map[string]string{"a": "b"},
		Annotations:   map[string]string{"large": "text"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone"}},
	}
	node := trimmed(t, &corev1.Node{
		ObjectMeta: meta,
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Unschedulable: true, Taints: []corev1.Taint{{Key: "k"}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}},
			Images: make([]corev1.ContainerImage, 50)},
	})
	require.Empty(t, node.Annotations)
	require.Empty(t, node.ManagedFields)
	require.Empty(t, node.Status.Images)
	require.Equal(t, "7", node.ResourceVersion)
	require.Equal(t, meta.Labels, node.Labels, "zones are labels")
	require.True(t, node.Spec.Unschedulable)
	require.Len(t, node.Spec.Taints, 1)
	require.Len(t, node.Status.Conditions, 1)

	pod := trimmed(t, &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 3),
			Tolerations: []corev1.Toleration{{Key: "k"}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}, PodIP: "10.0.0.1"},
	})
	require.Empty(t, pod.Labels)
	require.Empty(t, pod.Spec.Containers)
	require.Empty(t, pod.Status.PodIP)
	require.Equal(t, int64(3), pod.Generation)
	require.Equal(t, "n", pod.Spec.NodeName)
	require.Len(t, pod.Spec.Tolerations, 1)
	require.Len(t, pod.Status.Conditions, 1)

	require.Empty(t, pod.Annotations)
	require.Empty(t, pod.OwnerReferences)

	lease := trimmed(t,
		&coordinationv1.Lease{ObjectMeta: *meta.DeepCopy(), Spec: coordinationv1.LeaseSpec{HolderIdentity: &meta.Name}})
	require.Empty(t, lease.ManagedFields)
	require.Equal(t, "7", lease.ResourceVersion)
	require.Equal(t, &meta.Name, lease.Spec.HolderIdentity)

	event := &corev1.Event{ObjectMeta: meta}
	require.Same(t, event, trimmed(t, event), "none of ours")
}

// What flags may make an eviction depend on is there after trimming, and is not
// there when it was not before.
func TestTrimKeepsWhatEvictionsDependOn(t *testing.T) {
	for name, whole := range map[string]*corev1.Pod{
		"nothing special": {},
		"mirror": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			corev1.MirrorPodAnnotationKey: "hash", "large": "text",
		}}},
		"of a DaemonSet": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{Kind: "Other"}, {Kind: "DaemonSet", Name: "agent", Controller: ptr.To(true)},
		}}},
		"of a ReplicaSet": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)},
		}}},
		"of a DaemonSet that does not control it": {ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{Kind: "DaemonSet", Name: "agent"},
		}}},
		"finished":  {Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
		"running":   {Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		"important": {Spec: corev1.PodSpec{Priority: ptr.To[int32](1000)}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := trimmed(t, whole.DeepCopy())
			require.Equal(t, eviction.IsMirrorPod(whole), eviction.IsMirrorPod(pod))
			require.Equal(t, eviction.IsDaemonSetPod(whole), eviction.IsDaemonSetPod(pod))
			require.Equal(t, eviction.IsTerminal(whole), eviction.IsTerminal(pod))
			require.Equal(t, whole.Spec.Priority, pod.Spec.Priority)
			require.LessOrEqual(t, len(pod.Annotations), 1)
			require.LessOrEqual(t, len(pod.OwnerReferences), 1)
		})
	}
}

func trimmed[T any](t *testing.T, object T) T {
	t.Helper()
	after, err := edge.Trim(object)
	require.NoError(t, err)
	require.IsType(t, object, after)
	return after.(T)
}
