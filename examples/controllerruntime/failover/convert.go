package failover

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

// asNode returns a cluster as an eviction.Tracker reads it.
func asNode(c *federation.Cluster) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, UID: c.UID},
		Spec:       corev1.NodeSpec{Taints: c.Spec.Taints},
	}
}

// asPod returns a binding as an eviction.Tracker reads it.
func asPod(b *federation.Binding) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: b.Name, UID: b.UID, DeletionTimestamp: b.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{NodeName: b.Spec.Cluster, Tolerations: b.Spec.Tolerations},
	}
	if b.Spec.BoundAt != nil {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: *b.Spec.BoundAt,
		}}
	}
	return pod
}

// declared returns a cluster with the condition that says that it is silent.
func declared(c *federation.Cluster, since, now time.Time) *federation.Cluster {
	after := c.DeepCopy()
	meta.SetStatusCondition(&after.Status.Conditions, metav1.Condition{
		Type: federation.ConditionReady, Status: metav1.ConditionUnknown,
		ObservedGeneration: c.Generation, LastTransitionTime: metav1.NewTime(now),
		Reason: "HeartbeatsStopped", Message: "No heartbeat since " + since.UTC().Format(time.RFC3339),
	})
	return after
}

// moved returns a binding on another cluster.
func moved(b *federation.Binding, to string, now time.Time) *federation.Binding {
	after, at := b.DeepCopy(), metav1.NewTime(now)
	after.Spec.Cluster, after.Spec.BoundAt = to, &at
	return after
}

func readyIs(c *federation.Cluster, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, federation.ConditionReady, status)
}
