package taints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Find returns the taint with that identity.
func Find(taints []corev1.Taint, key string, effect corev1.TaintEffect) (corev1.Taint, bool) {
	if i := index(taints, key, effect); i >= 0 {
		return taints[i], true
	}
	return corev1.Taint{}, false
}

// Add returns taints with taint in the place of the one with the same identity,
// or else at the end. Its TimeAdded follows the rules of [Reconcile]: a time
// that taints holds for the taint or its lineage stays. The taint's own counts
// only when there is none. So adding a taint again does not restart the
// tolerations that count from it; Remove it first to do that.
//
// It returns taints itself when that changes nothing.
func Add(taints []corev1.Taint, taint corev1.Taint) []corev1.Taint {
	i := index(taints, taint.Key, taint.Effect)
	if i < 0 {
		taint.TimeAdded = timeAdded(taints, taint.TimeAdded, func(t *corev1.Taint) bool { return Equivalent(t, &taint) })
		return append(slices.Clip(taints), taint)
	}
	present := &taints[i]
	if present.Value == taint.Value && (!present.TimeAdded.IsZero() || taint.TimeAdded.IsZero()) {
		return slices.Clip(taints)
	}
	if !present.TimeAdded.IsZero() {
		taint.TimeAdded = present.TimeAdded
	}
	taint.TimeAdded = timeAdded(taints, taint.TimeAdded, func(t *corev1.Taint) bool { return Equivalent(t, &taint) })
	changed := slices.Clone(taints)
	changed[i] = taint
	return changed
}

// Remove returns taints without the one with that identity. It returns taints
// itself when there is none.
func Remove(taints []corev1.Taint, key string, effect corev1.TaintEffect) []corev1.Taint {
	return Filter(taints, func(t *corev1.Taint) bool { return t.Key != key || t.Effect != effect })
}

// Filter returns the taints for which keep is true. It returns taints itself
// when keep is true for all of them.
func Filter(taints []corev1.Taint, keep func(*corev1.Taint) bool) []corev1.Taint {
	for i := range taints {
		if keep(&taints[i]) {
			continue
		}
		kept := append(make([]corev1.Taint, 0, len(taints)-1), taints[:i]...)
		for j := i + 1; j < len(taints); j++ {
			if keep(&taints[j]) {
				kept = append(kept, taints[j])
			}
		}
		return kept
	}
	return slices.Clip(taints)
}

// Diff returns the taints that are in desired but not in current, and those
// that are in current but not in desired. Only identity counts: a taint with
// another value or TimeAdded is not a difference. It allocates nothing when
// there is none.
func Diff(desired, current []corev1.Taint) (add, remove []corev1.Taint) {
	return missing(desired, current), missing(current, desired)
}

func missing(from, in []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for i := range from {
		if index(in, from[i].Key, from[i].Effect) < 0 {
			out = append(out, from[i])
		}
	}
	return out
}

// Equal reports whether two lists hold the same taints in the same order, with
// their values and times.
func Equal(a, b []corev1.Taint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func index(taints []corev1.Taint, key string, effect corev1.TaintEffect) int {
	for i := range taints {
		if taints[i].Key == key && taints[i].Effect == effect {
			return i
		}
	}
	return -1
}

func equal(a, b *corev1.Taint) bool {
	return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value &&
		a.TimeAdded.Equal(b.TimeAdded)
}

// timeAdded returns since when a taint counts: the earliest time that current
// holds for its lineage, else the given one. A zero time counts as missing,
// because protobuf decodes an empty field to it. The caller's function knows the
// taint: one that is passed on to a Lineage would be moved to the heap.
func timeAdded(
	current []corev1.Taint, otherwise *metav1.Time, inLineage func(*corev1.Taint) bool,
) *metav1.Time {
	earliest := otherwise
	for i := range current {
		t := current[i].TimeAdded
		if !t.IsZero() && inLineage(&current[i]) && (earliest.IsZero() || t.Before(earliest)) {
			earliest = t
		}
	}
	if earliest == otherwise {
		return otherwise
	}
	return earliest.DeepCopy()
}

// Equivalent reports whether two taints count as one for the pods of a node:
// they have the same identity, or OwnsNoExecute reports true for both.
func Equivalent(a, b *corev1.Taint) bool {
	return a.MatchTaint(b) || OwnsNoExecute(a) && OwnsNoExecute(b)
}
