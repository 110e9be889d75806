package failover_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/taints"
)

// Way (b) of the package comment: a reconciler of bindings that keeps nothing
// between two calls. Decide is a pure function of two objects from the cache,
// and RequeueAfter is the only timer. It has no budget. The binding is on one
// cluster; of several, the earliest time counts.
func Example_requeueAfter() {
	noon := metav1.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	cluster := &federation.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: federation.ClusterSpec{Taints: []corev1.Taint{
		{Key: "retired", Effect: corev1.TaintEffectNoExecute, TimeAdded: &noon},
	}}}
	half := int64(30)
	binding := &federation.Binding{Spec: federation.BindingSpec{
		Clusters: []federation.TargetCluster{{Name: "one", BoundAt: &noon}},
		Tolerations: []corev1.Toleration{
			{Key: "retired", Operator: corev1.TolerationOpExists, TolerationSeconds: &half},
		},
	}}

	// It may have been added at any time before.
	start := func(stored *metav1.Time, now time.Time) time.Time {
		return eviction.StartTime(stored, now, false)
	}
	reconcileAt := func(now time.Time) reconcile.Result {
		var on []eviction.Taint
		for _, taint := range cluster.Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute {
				on = append(on, eviction.Taint{Taint: taint, Start: start(taint.TimeAdded, now)})
			}
		}
		pod := eviction.Pod{
			Tolerations: binding.Spec.Tolerations, Arrived: start(binding.Spec.Clusters[0].BoundAt, now),
		}
		switch decision := eviction.Decide(on, pod, taints.Matcher{}); {
		case !decision.Leaves():
			return reconcile.Result{}
		case decision.DueAt(now):
			fmt.Println("move:", decision.Reason)
			return reconcile.Result{}
		default:
			return reconcile.Result{RequeueAfter: decision.Due.Sub(now)}
		}
	}

	now := noon.Add(10 * time.Second)
	result := reconcileAt(now)
	fmt.Println("requeue after", result.RequeueAfter)
	reconcileAt(now.Add(result.RequeueAfter))
	// Output:
	// requeue after 21s
	// move: TolerationEnds
}
