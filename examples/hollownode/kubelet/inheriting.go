package kubelet

import "time"

// inherit takes over what a former process has left of a new pod.
func (f *Fleet) inherit(now time.Time, r *podRecord) {
	f.observe(now, r)
	if r.observed.SandboxReady() {
		// A former process has mounted its volumes.
		r.volumes = volumesMounted
	}
	if r.observed.Busy {
		// A former process began a plan. Its end comes as an event.
		r.doing = activityRunning
		f.config.Runtime.Cancel(now, r.pod.UID)
	}
}

// adoptRunning makes the runtime the basis of a pod, and counts one that runs.
func (f *Fleet) adoptRunning(r *podRecord) {
	r.basis = basisRuntime
	if r.observed.Running() || r.observed.SandboxReady() {
		f.totals.orphaned++
	}
}
