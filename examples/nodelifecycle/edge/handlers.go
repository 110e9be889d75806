package edge

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// Handlers feed a controller with what informers report. Each is to be added to
// the informer of its type.
type Handlers struct {
	Nodes cache.ResourceEventHandler
	// Leases must be given those of the namespace kube-node-lease and no others.
	Leases cache.ResourceEventHandler
	// Pods may be given pods that are not bound yet, which count for nothing.
	Pods cache.ResourceEventHandler
}

// NewHandlers returns the handlers that feed c. They touch c only inside of what
// they pass to observe, which has to run it at once, while nobody else uses c, and
// to say what time it is: a program takes the lock of its dispatcher and reads the
// clock under it, a simulator passes its own time. One report is one call of
// observe. The handlers are as safe for concurrent use as observe makes them.
func NewHandlers(c *controller.Controller, observe func(func(now time.Time))) Handlers {
	return Handlers{
		Nodes: Handler[*corev1.Node]{
			Observe: observe,
			Seen:    c.ObserveNode,
			Gone:    func(now time.Time, node *corev1.Node) { c.ForgetNode(now, node.Name) },
		},
		Leases: Handler[*coordinationv1.Lease]{
			Observe: observe,
			Seen:    c.ObserveLease,
			Gone:    func(now time.Time, lease *coordinationv1.Lease) { c.ForgetLease(now, lease.Name) },
		},
		Pods: Handler[*corev1.Pod]{
			Observe: observe,
			Seen:    c.ObservePod,
			Gone:    func(now time.Time, pod *corev1.Pod) { c.ForgetPod(now, controller.PodID(pod)) },
		},
	}
}

// A Handler turns the reports of an informer about objects of one type into two
// things that can happen to an object: it is seen, or it is gone. All fields are
// required.
//
// An informer that has missed a deletion, because its watch broke or its queue
// has merged the two, reports the object that has since come under the same name
// as an update of the old one. Their UIDs differ. The old one is gone then before
// the new one is seen, in one call of Observe.
//
// A deletion that was missed is reported with the last state that is known of the
// object. If not even that is known, nothing of it has been reported either, and
// nothing happens.
type Handler[T metav1.Object] struct {
	// Observe runs what it is given at once, and says what time it is.
	Observe func(func(now time.Time))
	// Seen and Gone are called inside of Observe only.
	Seen, Gone func(now time.Time, object T)
}

var _ cache.ResourceEventHandler = Handler[*corev1.Pod]{}

// OnAdd reports an object that is new to the informer.
func (h Handler[T]) OnAdd(object any, _ bool) {
	if added, ok := object.(T); ok {
		h.Observe(func(now time.Time) { h.Seen(now, added) })
	}
}

// OnUpdate reports another version of an object, or another object under its name.
func (h Handler[T]) OnUpdate(before, after any) {
	updated, ok := after.(T)
	if !ok {
		return
	}
	h.Observe(func(now time.Time) {
		if replaced, ok := before.(T); ok && replaced.GetUID() != updated.GetUID() {
			h.Gone(now, replaced)
		}
		h.Seen(now, updated)
	})
}

// OnDelete reports that an object is gone.
func (h Handler[T]) OnDelete(object any) {
	if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	if deleted, ok := object.(T); ok {
		h.Observe(func(now time.Time) { h.Gone(now, deleted) })
	}
}
