package failover

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

// recordSilence records an Event about a cluster that fell silent, as the API
// server has accepted it.
func (c *Controller) recordSilence(d Declaration) {
	ready := meta.FindStatusCondition(d.After.Status.Conditions, federation.ConditionReady)
	regarding := referenceTo(d.After, federation.GroupVersion().WithKind("Cluster"))
	c.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, ready.Reason, "Declare", "%s", ready.Message)
}

// recordMove records an Event about a binding that has moved.
func (c *Controller) recordMove(m Move) {
	decision := m.task.Decision
	c.recorder.Eventf(m.After, nil, corev1.EventTypeNormal, "Moved", "Move",
		"Moved from cluster %s to %s: %s (taint %s)", m.From, m.To,
		decision.Reason, decision.Taint.ToString())
}

// recordHalt records on the Lease that the controller was halted or goes on.
func (c *Controller) recordHalt(lease *coordinationv1.Lease, halted bool) {
	regarding := referenceTo(lease, coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	if halted {
		c.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, "Halted", "Halt",
			"Halted by its annotation %s: %s", c.stop.Annotation, lease.Annotations[c.stop.Annotation])
		return
	}
	c.recorder.Eventf(regarding, nil, corev1.EventTypeNormal, "Resumed", "Resume",
		"Its annotation %s is gone: what was held goes on", c.stop.Annotation)
}

// referenceTo names an object without its resourceVersion. Heartbeats and
// renewals change that all the time, and client-go counts an Event that repeats
// only for the same reference.
func referenceTo(object client.Object, kind schema.GroupVersionKind) *corev1.ObjectReference {
	version, name := kind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{
		APIVersion: version, Kind: name, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
	}
}
