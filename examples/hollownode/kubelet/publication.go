package kubelet

import (
	corev1 "k8s.io/api/core/v1"
)

// publication is the status of a pod, and how much of it the API server has.
//
// Each change has a version. One write is on its way at a time, and its result
// counts for the version that it carried. So an old status never overwrites a
// newer one, and changes during a write are written together after it.
type publication struct {
	status corev1.PodStatus
	// version counts changes. Zero is none yet.
	version uint64
	// written is the version that the API server has, sent that on its way.
	written, sent uint64
	// open has the phase before the final one, while that must not be written.
	// Nil withholds nothing.
	open *openPhase
}

// openPhase is a phase that is not final, with its reason.
type openPhase struct {
	phase           corev1.PodPhase
	reason, message string
}

// set replaces the status, and reports whether that is a change. A status that
// would revive a container is refused. While containers may run, a final phase
// is withheld: a Job replaces a pod as soon as the API shows that it has ended.
func (p *publication) set(pod *corev1.Pod, s corev1.PodStatus, mayRun bool) bool {
	old := &p.status
	if p.version == 0 {
		old = &pod.Status
	}
	if !isLegal(pod, old, &s) || p.version > 0 && sameStatus(old, &s) {
		return false
	}
	known := p.version == 0 && sameStatus(old, &s)
	if mayRun && isTerminal(s.Phase) && !isTerminal(old.Phase) {
		p.open = &openPhase{old.Phase, old.Reason, old.Message}
	}
	p.status = s
	p.version++
	if known {
		// After a restart the API server has what we would write.
		p.written = p.version
	}
	return true
}

// adopt takes the status of the API as one that was written.
func (p *publication) adopt(pod *corev1.Pod) {
	p.status, p.version, p.written = pod.Status, 1, 1
}

// current returns the status before the next: the last, else that of the API.
func (p *publication) current(pod *corev1.Pod) *corev1.PodStatus {
	if p.version == 0 {
		return &pod.Status
	}
	return &p.status
}

// pending reports whether a write is needed and none is on its way.
func (p *publication) pending() bool { return p.version > p.written && p.sent == 0 }

// begin starts a write of the present status.
func (p *publication) begin() (corev1.PodStatus, uint64) {
	p.sent = p.version
	return p.visible(), p.version
}

// visible returns the status as it may be written now.
func (p *publication) visible() corev1.PodStatus {
	s := p.status
	if p.open != nil {
		s.Phase, s.Reason, s.Message = p.open.phase, p.open.reason, p.open.message
	}
	return s
}

// release lets a final phase be written, because no container runs any more.
func (p *publication) release() {
	if p.open != nil {
		p.open = nil
		p.version++
	}
}

// end takes the result of the write of a version. That of another one changes
// nothing.
func (p *publication) end(version uint64, ok bool) {
	if p.sent != version || version == 0 {
		return
	}
	p.sent = 0
	if ok {
		p.written = max(p.written, version)
	}
}

// arrived takes the status that the API server has, and reports whether it is
// the last one. Then it replaces the last one, so that a pod has one in memory.
func (p *publication) arrived(s *corev1.PodStatus) bool {
	if p.version == 0 {
		return true
	}
	if p.open != nil {
		visible := p.visible()
		return sameStatus(s, &visible)
	}
	same := sameStatus(s, &p.status)
	if same {
		p.status = *s
	}
	return same
}

// overwritten makes the status pending again, after another client has changed
// it.
func (p *publication) overwritten() { p.written = 0 }
