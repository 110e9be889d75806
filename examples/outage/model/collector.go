package model

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// collectAfter is how long the garbage collector takes to see that an owner is
// gone, or wants to go.
var collectAfter = network.Span{Min: time.Second, Max: 20 * time.Second}

// lookAgain is how often it looks whether all that an owner waits for is gone.
const lookAgain = 5 * time.Second

// collectLater has the garbage collector do something by and by.
func (w *World) collectLater(do func()) { w.After(collectAfter.Pick(w.collecting), do) }

// ownerChanged has the garbage collector do what follows when a set has gone, or
// begins to be deleted with a finalizer that waits for the collector.
func (w *World) ownerChanged(before, after *appsv1.DaemonSet) {
	switch {
	case after == nil:
		w.collectLater(func() { w.collect(before.UID) })
	case after.DeletionTimestamp != nil && (before == nil || before.DeletionTimestamp == nil):
		w.collectLater(func() { w.finish(after) })
	}
}

// dependentChanged has the garbage collector delete what belongs to a set that
// is gone, when it is stored after that.
func (w *World) dependentChanged(object metav1.Object) {
	controller := metav1.GetControllerOfNoCopy(object)
	if controller == nil || controller.Kind != "DaemonSet" {
		return
	}
	if set := w.set(controller.Name); set == nil || set.UID != controller.UID {
		owner := controller.UID
		w.collectLater(func() { w.collect(owner) })
	}
}

// set returns a DaemonSet, or nil.
func (w *World) set(name string) *appsv1.DaemonSet {
	object, _ := w.server.store.Get(network.DaemonSets.Resource(), podKey(name))
	set, _ := object.(*appsv1.DaemonSet)
	return set
}

// collect deletes what belongs to an owner that is gone, and returns how many
// pods there are of it.
func (w *World) collect(owner types.UID) (pods int) {
	for _, pod := range ownedBy[*corev1.Pod](w, network.Pods, owner) {
		pods++
		if pod.DeletionTimestamp == nil {
			w.DeletePod(pod.Name)
		}
	}
	for _, revision := range ownedBy[*appsv1.ControllerRevision](w, network.Revisions, owner) {
		w.commit(apiserver.Change{
			Resource: network.Revisions.Resource(), Key: podKey(revision.Name), Old: revision, Last: revision.DeepCopy(),
		})
	}
	return pods
}

// finish deletes or orphans what a set has, as its finalizer says, and lets the
// set go when that is done.
func (w *World) finish(deleted *appsv1.DaemonSet) {
	set := w.set(deleted.Name)
	if set == nil || set.UID != deleted.UID {
		return
	}
	switch {
	case slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents):
		w.orphan(set.UID)
	case !slices.Contains(set.Finalizers, metav1.FinalizerDeleteDependents):
		return
	case w.collect(set.UID) > 0:
		w.After(lookAgain, func() { w.finish(deleted) })
		return
	}
	w.commit(apiserver.Change{
		Resource: network.DaemonSets.Resource(), Key: podKey(set.Name), Old: set, Last: set.DeepCopy(),
	})
}

// orphan takes the owners off what belongs to one.
func (w *World) orphan(owner types.UID) {
	for _, pod := range ownedBy[*corev1.Pod](w, network.Pods, owner) {
		next := pod.DeepCopy()
		next.OwnerReferences = nil
		w.putPod(next)
	}
	for _, revision := range ownedBy[*appsv1.ControllerRevision](w, network.Revisions, owner) {
		next := revision.DeepCopy()
		next.OwnerReferences = nil
		w.commit(apiserver.Change{
			Resource: network.Revisions.Resource(), Key: podKey(revision.Name), Old: revision, Next: next,
		})
	}
}

// ownedBy returns the objects of a kind that an owner controls.
func ownedBy[O interface {
	network.Object
	metav1.Object
}](w *World, kind network.Kind, owner types.UID) []O {
	return slices.DeleteFunc(ObjectsOf[O](w, kind), func(object O) bool {
		controller := metav1.GetControllerOfNoCopy(object)
		return controller == nil || controller.UID != owner
	})
}
