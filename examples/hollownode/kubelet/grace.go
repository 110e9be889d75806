package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// shortestGrace is the least time in which a pod ends. Source: pod_workers.go,
// v1.37.1.
const shortestGrace = int64(1)

// effectiveGrace returns the seconds in which a pod ends. Current is what held
// so far, zero if it was not ending. Override is nil unless another part of the
// node wants it sooner. A grace period only shrinks.
func effectiveGrace(current int64, pod *corev1.Pod, override *int64) int64 {
	grace := current
	chosen := false
	for _, wanted := range []*int64{pod.DeletionGracePeriodSeconds, override} {
		if wanted != nil && (grace == 0 || *wanted < grace) {
			grace, chosen = *wanted, true
		}
	}
	if !chosen && grace == 0 && pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return max(grace, shortestGrace)
}

// containerGrace returns the time in which one container of a pod ends that is
// not ending itself.
func containerGrace(pod *corev1.Pod, c *corev1.Container, reason KillReason) time.Duration {
	seconds := int64(2)
	var p *corev1.Probe
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		seconds = *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *pod.Spec.TerminationGracePeriodSeconds
		switch reason {
		case KillStartup:
			p = c.StartupProbe
		case KillLiveness:
			p = c.LivenessProbe
		case KillReset:
			seconds = 0
		}
	}
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		seconds = *p.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
