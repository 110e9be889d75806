package scenario

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Toleration is one of a workload's pods, as in a pod template.
type Toleration struct {
	// Key is that of the taint. Without one, and with Exists, it is for all
	// taints.
	Key string `json:"key,omitempty"`
	// Operator is Equal, the default, or Exists.
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	// Effect is that of the taint; all if it is left out.
	Effect string `json:"effect,omitempty"`
	// Seconds is how long a NoExecute taint is tolerated; for ever if it is left
	// out.
	Seconds *int64 `json:"seconds,omitempty"`
}

// AdmissionTolerates reports whether the API server's admission finds that pods
// with these tolerations say how long they tolerate a NoExecute taint of that
// key. It adds its own for not-ready and unreachable otherwise. Source: plugin
// DefaultTolerationSeconds of kube-apiserver v1.37, which does not ask for the
// operator either.
func AdmissionTolerates(tolerations []corev1.Toleration, key string) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
	})
}

// podTolerations checks the tolerations that a workload lists.
func (c *checker) podTolerations(at string, w *Workload) {
	exists, equal := string(corev1.TolerationOpExists), string(corev1.TolerationOpEqual)
	for i := range w.Tolerations {
		t, place := &w.Tolerations[i], item(at+".tolerations", i)
		if t.Operator != "" {
			c.oneOf(place+".operator", "operator", t.Operator, equal, exists)
		}
		if t.Key != "" {
			c.taintKey(place+".key", t.Key)
		} else {
			c.addUnless(t.Operator == exists, []string{place + ".key", place + ".operator"}, place,
				"has no key; give it one, or operator: Exists for all taints")
		}
		c.addUnless(t.Value == "" || t.Operator != exists, []string{place + ".operator"}, place+".value",
			"contradicts operator: Exists, which is for every value; leave out one of them")
		if t.Effect != "" {
			c.oneOf(place+".effect", "effect", t.Effect, taintEffects()...)
		}
		c.addUnless(t.Seconds == nil || t.Effect == string(corev1.TaintEffectNoExecute), []string{place + ".effect"},
			place+".seconds", "is only for effect: NoExecute")
		c.check(t.Seconds == nil || *t.Seconds >= 0, place+".seconds", "is below zero; 0 is at once")
	}
}
