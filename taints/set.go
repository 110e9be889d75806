package taints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Find returns the taint with that identity.
func Find(taints []corev1.Taint, key string, effect corev1.TaintEffect) (corev1.Taint, bool) {
	if i := index(taints, key, effect); i >= 0 {
		return taints[i], true
	}
	return corev1.Taint{}, false
}

// Add returns taints with taint in it: in the place of the one with the same
// identity, else at the end. It returns taints itself when it holds an equal
// taint already.
func Add(taints []corev1.Taint, taint corev1.Taint) []corev1.Taint {
	i := index(taints, taint.Key, taint.Effect)
	if i < 0 {
		return append(slices.Clip(taints), taint)
	}
	if same(&taints[i], &taint) {
		return slices.Clip(taints)
	}
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
		if !same(&a[i], &b[i]) {
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

func same(a, b *corev1.Taint) bool {
	return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value &&
		a.TimeAdded.Equal(b.TimeAdded)
}
