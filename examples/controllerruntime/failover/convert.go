package failover

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

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

func readyIs(c *federation.Cluster, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, federation.ConditionReady, status)
}
