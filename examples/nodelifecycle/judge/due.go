package judge

import (
	"fmt"
	"math"
	"strings"
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
	if t.Effect != "" && t.Effect != executes || t.Key != "" && t.Key != against.key {
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

// deadlines are the earliest times at which a pod may leave: for anything, for
// taints, for taints of others; and since when it may be said that it does not go
// though it was asked to.
type deadlines struct{ any, taints, others, asked time.Duration }

// deadlines returns those of the call's pod, by what the process may have gone by.
func (s *sent) deadlines() deadlines {
	d := deadlines{never, never, never, never}
	for _, v := range s.known {
		d.any = min(d.any, s.emptiedFrom(v))
	}
	d.asked = d.any
	paused := s.paused()
	for _, v := range s.known {
		for i := range s.podKnown {
			for _, t := range v.taints {
				if t.ours() && (paused || v.ready && s.settings.Recovery == 0) {
					continue // it makes no pod leave
				}
				due, asked := s.earliestFor(t, s.podKnown[i].tolerations)
				d.taints, d.asked = min(d.taints, due), min(d.asked, asked)
				if !t.ours() {
					d.others = min(d.others, due)
				}
			}
		}
	}
	d.any = min(d.any, d.taints)
	return d
}

// earliestFor returns when a pod is due for a taint at the earliest, and since
// when it was asked to go by what is written, whenever a process has seen that.
func (s *sent) earliestFor(t *taint, tolerations []corev1.Toleration) (due, asked time.Duration) {
	lasts, tolerated := patience(tolerations, t)
	starts := max(t.earliest(s.process), s.pod.arrived.earliest(s.process))
	if !tolerated {
		due = max(t.since, s.pod.bound)
		return due, min(due, starts)
	}
	due = plus(starts, lasts)
	return due, due
}

// emptiedFrom returns the earliest time at which a pod may leave because its node
// is emptied.
func (s *sent) emptiedFrom(v *nodeVersion) time.Duration {
	timeout := s.settings.Timeout
	if !s.settings.ByNode || v.ill == nil || isDaemon(s.pod.object) {
		return never
	}
	return max(v.ill.earliest(s.process), s.resumed()) + timeout
}

// latestDue returns by when a process must have begun to make a pod leave, as
// the API server has pod and node now. It tells our own taints from all others.
func (p *pod) latestDue(by *process) (ours, others time.Duration) {
	ours, others = never, never
	s := &by.judge.settings
	for _, t := range p.on.latest().taints {
		lasts, tolerated := patience(p.latest().tolerations, t)
		at := max(t.since, p.bound)
		if tolerated {
			start, stay := t.latest(by), p.arrived.latest(by)
			if lasts == never || start == never || stay == never {
				continue
			}
			from := max(start, stay)
			at = plus(from+s.Skew+by.client.SuspendedFor(from, by.judge.world.Elapsed()), lasts)
		}
		switch {
		case !t.ours():
			others = min(others, at)
		case p.on.ready != corev1.ConditionTrue: // or it makes no pod leave
			ours = min(ours, max(at, p.on.lastReady))
		}
	}
	return ours, others
}

// describe tells what a decision about a pod could be based on.
func (s *sent) describe() string {
	var text strings.Builder
	fmt.Fprintf(&text, "bound at %v", s.pod.bound)
	for _, on := range s.known {
		fmt.Fprintf(&text, "; from %v on (ready: %t) taints", on.at, on.ready)
		for _, t := range on.taints {
			fmt.Fprintf(&text, " %s (since %v, counts from %v)", t.key, t.since, t.earliest(s.process))
			if lasts, tolerated := patience(s.pod.latest().tolerations, t); tolerated {
				fmt.Fprintf(&text, " tolerated for %v", lasts)
			}
		}
	}
	return text.String()
}
