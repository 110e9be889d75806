package simulation

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// collect is the garbage collector: what belongs to a set that is gone is
// deleted.
func (c *cluster) collect() {
	exists := map[types.UID]bool{}
	for _, set := range list[*appsv1.DaemonSet](c, invariant.Sets) {
		exists[set.UID] = true
	}
	gone := func(object metav1.Object) bool {
		owner := metav1.GetControllerOfNoCopy(object)
		return owner != nil && owner.Kind == "DaemonSet" && !exists[owner.UID]
	}
	for _, pod := range list[*corev1.Pod](c, invariant.Pods) {
		if gone(pod) {
			c.deletePod(pod)
		}
	}
	for _, revision := range list[*appsv1.ControllerRevision](c, invariant.Revisions) {
		if gone(revision) {
			c.drop(invariant.Revisions, revision)
		}
	}
}

// deletePod deletes a pod gracefully, as any client may.
func (c *cluster) deletePod(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		_, _ = c.server.Delete(c.Now(), resourceOf(invariant.Pods), apiserver.KeyOf(pod), metav1.DeleteOptions{})
	}
}

// deleteSet deletes a set. With a propagation that needs one it gets a
// finalizer first, and the garbage collector takes it off when it is done.
func (c *cluster) deleteSet(set *appsv1.DaemonSet, propagation metav1.DeletionPropagation) {
	finalizer := ""
	switch propagation {
	case metav1.DeletePropagationOrphan:
		finalizer = metav1.FinalizerOrphanDependents
	case metav1.DeletePropagationForeground:
		finalizer = metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationBackground:
	}
	if finalizer != "" {
		next := set.DeepCopy()
		next.Finalizers = append(next.Finalizers, finalizer)
		c.put(invariant.Sets, set, next)
		c.After(c.between(time.Second, 10*time.Second), func() { c.finishDeletion(set.Name, set.UID) })
	}
	_, _ = c.server.Delete(c.Now(), resourceOf(invariant.Sets), apiserver.KeyOf(set), metav1.DeleteOptions{})
}

// finishDeletion deletes or orphans what a set has, and then removes the set.
func (c *cluster) finishDeletion(name string, uid types.UID) {
	set := get[*appsv1.DaemonSet](c, invariant.Sets, name)
	if set == nil || set.UID != uid {
		return
	}
	left := 0
	orphans := slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents)
	for _, pod := range list[*corev1.Pod](c, invariant.Pods) {
		switch {
		case !metav1.IsControlledBy(pod, set):
		case orphans:
			c.orphan(invariant.Pods, pod)
		default:
			left++
			c.deletePod(pod)
		}
	}
	for _, revision := range list[*appsv1.ControllerRevision](c, invariant.Revisions) {
		switch {
		case !metav1.IsControlledBy(revision, set):
		case orphans:
			c.orphan(invariant.Revisions, revision)
		default:
			c.drop(invariant.Revisions, revision)
		}
	}
	if left > 0 {
		c.After(5*time.Second, func() { c.finishDeletion(name, uid) })
		return
	}
	c.drop(invariant.Sets, set)
}

// orphan takes the owners off an object.
func (c *cluster) orphan(kind invariant.Kind, object runtime.Object) {
	next := object.DeepCopyObject()
	apiserver.MetaOf(next).SetOwnerReferences(nil)
	c.put(kind, object, next)
}

// steal makes another controller the owner of an object.
func (c *cluster) steal(kind invariant.Kind, object runtime.Object) {
	next := object.DeepCopyObject()
	controls := true
	apiserver.MetaOf(next).SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Thief", Name: "thief", UID: "thief", Controller: &controls,
	}})
	c.put(kind, object, next)
}
