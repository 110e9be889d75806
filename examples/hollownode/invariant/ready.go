package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// readyTrue checks that what a kubelet shows as ready was.
func (c *checker) readyTrue(l *life, change *Change, after *corev1.Pod) {
	for _, spec := range lasting(l.spec) {
		s := statusOf(append(after.Status.ContainerStatuses, after.Status.InitContainerStatuses...), spec.Name)
		if s == nil || !s.Ready {
			continue
		}
		need := time.Duration(0)
		if spec.ReadinessProbe != nil {
			need = takes(l.spec, spec.Name, readyTime)
		}
		if spec.StartupProbe != nil {
			need = max(need, takes(l.spec, spec.Name, startupTime))
		}
		ready := func(r *Run) bool {
			return r.ID == s.ContainerID && !r.Started.IsZero() && !r.Started.Add(need).After(change.By.Decided)
		}
		if !slices.ContainsFunc(l.runs, ready) {
			c.violate(ReadyTrue, change.At, "%s of %s is shown as ready, and was not at %s", s.ContainerID, l,
				clock(change.By.Decided))
		}
	}
}

const (
	// readyWithin is how long a node has to show what is ready.
	readyWithin = 10 * time.Second
	// callsWithin is for the calls and watches of a cluster in which nothing is
	// wrong.
	callsWithin = 2 * time.Second
)

// readyInTime checks that a pod is shown as ready soon after it is.
func (c *checker) readyInTime(l *life) {
	bound := readyWithin + callsWithin
	for _, spec := range lasting(l.spec) {
		for _, probe := range []*corev1.Probe{spec.StartupProbe, spec.ReadinessProbe} {
			if probe != nil {
				bound += time.Duration(probe.PeriodSeconds) * time.Second
			}
		}
	}
	spans := l.alive(c.history.End)
	for _, spec := range lasting(l.spec) {
		spans = intersect(spans, l.readySpans(spec, c.history.End))
	}
	spans = intersect(spans, c.undisturbed(l.spec.Spec.NodeName))
	for _, s := range spans {
		c.shownReady(l, s.from.Add(bound), s.to)
	}
}

// shownReady checks that a pod is shown as ready throughout a time.
func (c *checker) shownReady(l *life, from, to time.Time) {
	if !from.Before(to) {
		return
	}
	for i, change := range l.changes {
		_, after := change.pods()
		ends := c.history.End
		if i+1 < len(l.changes) {
			ends = l.changes[i+1].At
		}
		if after == nil || !change.At.Before(to) || !ends.After(from) || showsReady(after) {
			continue
		}
		at := from
		if change.At.After(at) {
			at = change.At
		}
		c.violate(ReadyInTime, at, "%s is ready, and not shown so", l)
		return
	}
}

func showsReady(pod *corev1.Pod) bool {
	return conditionIs(pod.Status.Conditions, corev1.PodReady, corev1.ConditionTrue)
}

func conditionIs(list []corev1.PodCondition, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(list, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// alive returns when a pod was to be ready as far as its object says. It has no
// final phase, is not to be deleted, and its gates are open. A write of another
// client begins a new time, because its kubelet must react to that.
func (l *life) alive(end time.Time) []span {
	var spans []span
	for i, change := range l.changes {
		_, after := change.pods()
		if after == nil || after.DeletionTimestamp != nil || final(after.Status.Phase) || l.late(after) {
			continue
		}
		if gates := after.Spec.ReadinessGates; len(gates) > 0 &&
			!conditionIs(after.Status.Conditions, gates[0].ConditionType, corev1.ConditionTrue) {
			continue
		}
		s := span{change.At, end}
		if i+1 < len(l.changes) {
			s.to = l.changes[i+1].At
		}
		if last := len(spans) - 1; last >= 0 && change.By != nil && spans[last].to.Equal(s.from) {
			spans[last].to = s.to
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// late reports whether a pod has a deadline, which ends it at a time that only
// its kubelet knows before its start is stored.
func (l *life) late(pod *corev1.Pod) bool { return pod.Spec.ActiveDeadlineSeconds != nil }

// readySpans returns when runs of a container were ready.
func (l *life) readySpans(spec *corev1.Container, end time.Time) []span {
	var spans []span
	for _, run := range l.runsOf(spec.Name) {
		if run.Started.IsZero() {
			continue
		}
		s := span{run.Started.Add(isReadyAfter(l.spec, spec)), end}
		for _, at := range []time.Time{run.Ended, run.Stopped} {
			if !at.IsZero() && at.Before(s.to) {
				s.to = at
			}
		}
		if s.from.Before(s.to) {
			spans = append(spans, s)
		}
	}
	return spans
}
