package invariant

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const never = time.Duration(math.MaxInt64)

// patience returns for how long tolerations tolerate a taint: not at all, for
// ever, or so long. Of several that match the first counts.
func patience(tolerations []corev1.Toleration, t *taint) (lasts time.Duration, tolerated bool) {
	for i := range tolerations {
		one := &tolerations[i]
		if !matches(one, t) {
			continue
		}
		if one.TolerationSeconds == nil {
			return never, true
		}
		return time.Duration(max(*one.TolerationSeconds, 0)) * time.Second, true
	}
	return 0, false
}

// matches reports whether a toleration tolerates a NoExecute taint. Operators
// but these two match nothing by default in v1.37.
func matches(t *corev1.Toleration, against *taint) bool {
	if t.Effect != "" && t.Effect != corev1.TaintEffectNoExecute || t.Key != "" && t.Key != against.key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return t.Value == against.value
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
	}
	return false
}

// plus adds without overflow.
func plus(at, lasts time.Duration) time.Duration {
	if lasts > never-max(at, 0) {
		return never
	}
	return at + lasts
}

// earliestDue returns the earliest time at which a pod may be deleted for
// taints, ours only if they count.
func (p *pod) earliestDue(taints []taint, tolerations []corev1.Toleration, oursCount bool, v *seenNode) time.Duration {
	due := never
	for i := range taints {
		t := &taints[i]
		if t.ours() && !oursCount {
			continue
		}
		lasts, tolerated := patience(tolerations, t)
		switch {
		case !tolerated:
			due = min(due, max(t.stored, p.bound))
		case lasts != never:
			due = min(due, plus(max(v.earliestStart(t), p.arrived), lasts))
		}
	}
	return due
}

// earliestStart returns the earliest time from which a client may count a
// taint. One without TimeAdded may have been taken away and set again while the
// client was shown nothing.
func (n *seenNode) earliestStart(t *taint) time.Duration {
	if seen := n.taint(t.key); seen != nil && !t.dated {
		return min(t.started, seen.started)
	}
	return t.started
}

// earliestSince is earliestDue for how long a pod was asked to go. One that
// does not tolerate a taint was since the taint and the pod were there,
// whenever a client has seen them.
func (p *pod) earliestSince(taints []taint, tolerations []corev1.Toleration, oursCount bool,
	v *seenNode) time.Duration {
	since := p.earliestDue(taints, tolerations, oursCount, v)
	for i := range taints {
		t := &taints[i]
		if _, tolerated := patience(tolerations, t); tolerated || t.ours() && !oursCount {
			continue
		}
		since = min(since, max(v.earliestStart(t), p.arrived))
	}
	return since
}

// whileIll returns when taints of ours make a pod due that would do so at a
// time. They do not while the node is said to be ready.
func (n *node) whileIll(due time.Duration) time.Duration {
	if n.ready == corev1.ConditionTrue {
		return never
	}
	return max(due, n.lastReady)
}

// latestDue returns by when a client must have begun to delete a pod, as the
// API server has pod and node now. It tells our own taints from all others.
func (p *pod) latestDue(v *view, s *Settings) (ours, others time.Duration) {
	ours, others = never, never
	seen := v.nodes[p.on.name]
	for i := range p.on.newest.taints {
		t := &p.on.newest.taints[i]
		lasts, tolerated := patience(p.tolerations(), t)
		at := max(t.stored, p.bound)
		if tolerated {
			sight := seen.taint(t.key)
			stay, sees := v.stay(p)
			if lasts == never || sight == nil || !sees {
				continue
			}
			from := max(sight.started, stay)
			at = plus(from+s.Skew+v.client.SuspendedFor(from, v.judge.world.Elapsed()), lasts)
		}
		if t.ours() {
			ours = min(ours, at)
		} else {
			others = min(others, at)
		}
	}
	return ours, others
}
