package taints

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// A Matcher decides which tolerations tolerate which taints. The zero value
// matches as Kubernetes v1.37 does by default.
type Matcher struct {
	// EnableComparisonOperators makes the operators Lt and Gt work. It stands for
	// the feature gate TaintTolerationComparisonOperators, which is off by default
	// in v1.37. A toleration with such an operator then matches nothing.
	EnableComparisonOperators bool
}

// Tolerates reports whether the toleration tolerates the taint.
func (m Matcher) Tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	// The API package's own rule logs values that are not numbers. A pure function
	// has no logger, and the zero Logger discards.
	return toleration.ToleratesTaint(klog.Logger{}, taint, m.EnableComparisonOperators)
}

// First returns the first of the tolerations that tolerates the taint, or nil.
// When several do, Kubernetes counts the first.
func (m Matcher) First(tolerations []corev1.Toleration, taint *corev1.Taint) *corev1.Toleration {
	for i := range tolerations {
		if m.Tolerates(&tolerations[i], taint) {
			return &tolerations[i]
		}
	}
	return nil
}

// Untolerated returns the first taint with that effect that none of the
// tolerations tolerates, or nil.
func (m Matcher) Untolerated(
	taints []corev1.Taint, tolerations []corev1.Toleration, effect corev1.TaintEffect,
) *corev1.Taint {
	for i := range taints {
		if taints[i].Effect == effect && m.First(tolerations, &taints[i]) == nil {
			return &taints[i]
		}
	}
	return nil
}
