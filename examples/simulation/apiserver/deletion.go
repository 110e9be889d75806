package apiserver

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Delete removes an object, or marks it as terminating when a kubelet or a
// finalizer has yet to agree, and reports whether it is gone.
func (s *Server) Delete(
	now time.Time, gvr schema.GroupVersionResource, k Key, options metav1.DeleteOptions,
) (gone bool, err error) {
	dry, err := dryRun(options.DryRun)
	if err != nil {
		return false, err
	}
	for {
		current, ok := s.store.Get(gvr, k)
		if !ok {
			return false, apierrors.NewNotFound(gvr.GroupResource(), k.Name)
		}
		if err := checkPreconditions(gvr.Group, current, options.Preconditions); err != nil {
			return false, err
		}
		d := deletionOf(current, options.GracePeriodSeconds, stored(now))
		if dry || d == (deletion{}) {
			return false, nil
		}
		if s.store.Commit(d.change(now, gvr, k, current)) {
			return d.gone, nil
		}
	}
}

// DeleteCollection deletes what the options of a list select.
func (s *Server) DeleteCollection(
	now time.Time, gvr schema.GroupVersionResource, namespace string,
	options metav1.DeleteOptions, selected metav1.ListOptions,
) error {
	f, err := s.filter(gvr, selected)
	if err != nil {
		return err
	}
	entries, _ := s.store.Snapshot(gvr, namespace)
	for _, object := range Sorted[runtime.Object](entries) {
		if !f.matches(object) {
			continue
		}
		_, err := s.Delete(now, gvr, KeyOf(MetaOf(object)), options)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func checkPreconditions(group string, current runtime.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m := MetaOf(current)
	resource := schema.GroupResource{Group: group, Resource: kindOf(current)} // real servers name the kind here
	if p.UID != nil && *p.UID != m.GetUID() {
		return apierrors.NewConflict(resource, m.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and "+
				"then recreated",
			*p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(resource, m.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might "+
				"have been modified",
			*p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// deletion is what a delete does to an object. The zero value is nothing: it is
// under way already.
type deletion struct {
	next runtime.Object // the terminating state; nil: not a new one
	gone bool           // removed, after next if there is one
}

func (d deletion) change(now time.Time, gvr schema.GroupVersionResource, k Key, current runtime.Object) Change {
	c := Change{Resource: gvr, Key: k, At: now, Old: current, Next: d.next}
	if !d.gone {
		return c
	}
	last := current
	if d.next != nil {
		last = d.next
	}
	c.Last = last.DeepCopyObject()
	return c
}

// deletionOf decides what a delete does at a time. Only pods are deleted
// gracefully; of the others a finalizer alone delays the end.
func deletionOf(current runtime.Object, grace *int64, at metav1.Time) deletion {
	if pod, ok := current.(*corev1.Pod); ok {
		return podDeletion(pod, grace, at)
	}
	return plainDeletion(current, at)
}

func plainDeletion(current runtime.Object, at metav1.Time) deletion {
	m := MetaOf(current)
	if len(m.GetFinalizers()) == 0 {
		return deletion{gone: true}
	}
	if m.GetDeletionTimestamp() != nil {
		return deletion{}
	}
	return deletion{next: terminating(current, at, 0)}
}

// podDeletion follows the API: the first delete sets the time and the grace
// period, and a later one can only shorten the period. Zero removes the pod at
// once, after one last change that watches show.
func podDeletion(pod *corev1.Pod, grace *int64, at metav1.Time) deletion {
	if pod.DeletionTimestamp == nil {
		return gracefully(pod, gracePeriod(pod, grace), at, at)
	}
	if pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds == 0 {
		return plainDeletion(pod, at)
	}
	old := *pod.DeletionGracePeriodSeconds
	if grace == nil || nonnegative(*grace) >= old {
		return deletion{}
	}
	begun := pod.DeletionTimestamp.Add(-time.Duration(old) * time.Second)
	return gracefully(pod, nonnegative(*grace), metav1.NewTime(begun), at)
}

// gracefully ends a pod's life a period after its deletion began, but not in
// the past. What is left of a period that has passed is one second.
func gracefully(pod *corev1.Pod, period int64, begun, at metav1.Time) deletion {
	end := metav1.NewTime(begun.Add(time.Duration(period) * time.Second))
	if end.Before(&at) {
		end, period = at, min(period, 1)
	}
	return deletion{
		next: terminating(pod, end, period),
		gone: period == 0 && len(pod.Finalizers) == 0,
	}
}

// gracePeriod is the pod's own unless the request brings one. A pod that has no
// kubelet, or nothing left to stop, needs none.
func gracePeriod(pod *corev1.Pod, requested *int64) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	if requested != nil {
		return nonnegative(*requested)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return nonnegative(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return 0
}

// nonnegative reads a grace period: the API takes a negative one for a second.
func nonnegative(period int64) int64 {
	if period < 0 {
		return 1
	}
	return period
}

func terminating(current runtime.Object, end metav1.Time, period int64) runtime.Object {
	next := current.DeepCopyObject()
	m := MetaOf(next)
	if m.GetDeletionTimestamp() == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	m.SetDeletionTimestamp(&end)
	m.SetDeletionGracePeriodSeconds(&period)
	return next
}

// finalized reports whether a write has removed the last finalizer of an object
// that waited for nothing else.
func finalized(next runtime.Object) bool {
	m := MetaOf(next)
	if m.GetDeletionTimestamp() == nil || len(m.GetFinalizers()) > 0 {
		return false
	}
	grace := m.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
