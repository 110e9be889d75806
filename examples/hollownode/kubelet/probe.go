package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// ProbeResult is what the probes of a container have shown so far. The zero
// value means that no probe has run.
type ProbeResult string

const (
	// ProbeKept: it has not run since the kubelet has restarted. Until then the
	// container is as ready as its pod is in the API.
	ProbeKept ProbeResult = "Kept"
	// ProbeUnknown: the startup probe has not decided yet.
	ProbeUnknown ProbeResult = "Unknown"
	// ProbeSuccess: the last probes succeeded, as many as the threshold.
	ProbeSuccess ProbeResult = "Success"
	// ProbeFailure: the last probes failed, as many as the threshold.
	ProbeFailure ProbeResult = "Failure"
)

// ProbeKey identifies the probes of one kind of one run of a container.
type ProbeKey struct {
	ContainerID string
	Kind        cri.ProbeKind
}

// Probes are the results by key. A missing one has not run.
type Probes map[ProbeKey]ProbeResult

// probe counts the answers of one probe of one run of a container.
type probe struct {
	result ProbeResult
	last   bool // the last answer
	run    int32
	// held probes have decided. The next run of the container has a new one.
	held bool
}

// newProbe returns a probe without answers. Until the first decision a
// container is live and not ready.
func newProbe(kind cri.ProbeKind) *probe {
	switch kind {
	case cri.ProbeLiveness:
		return &probe{result: ProbeSuccess}
	case cri.ProbeReadiness:
		return &probe{result: ProbeFailure}
	default:
		return &probe{result: ProbeUnknown}
	}
}

// keptProbe returns the probe of a container that the kubelet has found running
// when it restarted. One that had started is not asked again whether it has.
func keptProbe(kind cri.ProbeKind, started bool) *probe {
	switch {
	case kind == cri.ProbeReadiness:
		return &probe{result: ProbeKept}
	case kind == cri.ProbeStartup && started:
		return &probe{result: ProbeSuccess, held: true}
	default:
		return newProbe(kind)
	}
}

// observe counts an answer, and reports whether it changes the result.
func (p *probe) observe(kind cri.ProbeKind, spec *corev1.Probe, ok bool) bool {
	if p.run > 0 && p.last == ok {
		p.run++
	} else {
		p.last, p.run = ok, 1
	}
	result, threshold := ProbeFailure, spec.FailureThreshold
	if threshold <= 0 {
		threshold = 3 // the API's default
	}
	if ok {
		result, threshold = ProbeSuccess, max(spec.SuccessThreshold, 1)
	}
	if p.run < threshold {
		return false
	}
	if kind == cri.ProbeStartup || kind == cri.ProbeLiveness && !ok {
		p.held, p.run = true, 0
	}
	changed := p.result != result
	p.result = result
	return changed
}

// probeSpec returns the probe of a kind of a container, or nil.
func probeSpec(c *corev1.Container, kind cri.ProbeKind) *corev1.Probe {
	switch kind {
	case cri.ProbeStartup:
		return c.StartupProbe
	case cri.ProbeLiveness:
		return c.LivenessProbe
	case cri.ProbeReadiness:
		return c.ReadinessProbe
	default:
		return nil
	}
}
