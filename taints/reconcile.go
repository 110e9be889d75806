package taints

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reconcile returns current with its owned taints replaced by the desired ones.
// The others stay untouched and in their order. Desired taints that current
// holds keep their place, and missing ones come last. When there is nothing to
// change, Reconcile returns current itself and false, without allocating.
//
// Reconcile ignores the TimeAdded of desired taints. A taint keeps its own or
// takes over that of its lineage; see the package comment. Otherwise it gets
// now in whole seconds, as the API stores it. Of several times in a lineage the
// earliest counts, but a difference of times alone changes nothing.
//
// A taint that is desired twice is added once, with the first one's value.
// Desired taints should be owned. One that is not is added too, but never
// removed.
func Reconcile(
	current, desired []corev1.Taint, owned func(*corev1.Taint) bool, now time.Time,
) ([]corev1.Taint, bool) {
	return Lineage(Equivalent).Reconcile(current, desired, owned, now)
}

// A Lineage reports whether two taints count as one, so that one which replaces
// the other keeps its time. It is true for taints of the same identity.
// [Equivalent] is that of nodes.
type Lineage func(a, b *corev1.Taint) bool

// Reconcile is the function of that name for taints with another lineage.
func (l Lineage) Reconcile(
	current, desired []corev1.Taint, owned func(*corev1.Taint) bool, now time.Time,
) ([]corev1.Taint, bool) {
	if upToDate(current, desired, owned) {
		return slices.Clip(current), false
	}
	next := make([]corev1.Taint, 0, len(current)+len(desired))
	for i := range current {
		want := index(desired, current[i].Key, current[i].Effect)
		if want < 0 && owned(&current[i]) {
			continue
		}
		kept := current[i]
		if want >= 0 {
			kept.Value = desired[want].Value
			kept.TimeAdded = timeAdded(current, kept.TimeAdded, func(t *corev1.Taint) bool { return l(t, &kept) })
		}
		next = append(next, kept)
	}
	for i := range desired {
		if index(next, desired[i].Key, desired[i].Effect) >= 0 {
			continue // present already, or desired twice, which the API refuses
		}
		added := desired[i]
		stamp := metav1.NewTime(now.Truncate(time.Second))
		added.TimeAdded = timeAdded(current, &stamp, func(t *corev1.Taint) bool { return l(t, &added) })
		next = append(next, added)
	}
	return next, true
}

// upToDate reports whether current has each desired taint and no other owned
// one.
func upToDate(current, desired []corev1.Taint, owned func(*corev1.Taint) bool) bool {
	for i := range current {
		want := index(desired, current[i].Key, current[i].Effect)
		if want < 0 && owned(&current[i]) {
			return false
		}
		if want >= 0 && desired[want].Value != current[i].Value {
			return false
		}
	}
	for i := range desired {
		if index(current, desired[i].Key, desired[i].Effect) < 0 {
			return false
		}
	}
	return true
}
