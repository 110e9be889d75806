package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

const (
	// volumeTimeout is how long a sync waits for volumes. Source:
	// podAttachAndMountTimeout in pkg/kubelet/volumemanager, v1.37.1.
	volumeTimeout = 2*time.Minute + 3*time.Second
	// longestMount bounds a time that is to last for ever.
	longestMount = 1000 * time.Hour
)

// mounted reports whether the volumes of a pod are there. If not, the sync
// waits for them.
func (f *Fleet) mounted(now time.Time, r *podRecord) bool {
	if r.volumes == volumesMounted {
		return true
	}
	script, _ := cri.ParseScript(r.pod, "")
	if !r.volumesReady(now, volumesMounting, script.MountFailures, script.MountTime) {
		f.await(now, r, activityMounting)
		return false
	}
	r.volumes = volumesMounted
	return true
}

// unmounted reports whether the volumes of a pod are gone. If not, the sync
// waits for that.
func (f *Fleet) unmounted(now time.Time, r *podRecord) bool {
	if r.volumes == volumesAbsent {
		return true
	}
	script, _ := cri.ParseScript(r.pod, "")
	if !r.volumesReady(now, volumesUnmounting, script.UnmountFailures, script.UnmountTime) {
		f.await(now, r, activityUnmounting)
		return false
	}
	r.volumes = volumesAbsent
	return true
}

// volumesReady reports whether volumes are mounted, or unmounted, given how
// many waits for that fail and how long it takes then. It goes on between two
// waits, as the volumes of a kubelet do.
func (r *podRecord) volumesReady(now time.Time, state volumeState, failures int, takes time.Duration) bool {
	if r.volumes != state {
		r.volumes, r.volumeFailures, r.volumesAt = state, 0, time.Time{}
	}
	if int(r.volumeFailures) < failures {
		return false
	}
	if r.volumesAt.IsZero() {
		r.volumesAt = now.Add(min(takes, longestMount))
	}
	return !now.Before(r.volumesAt)
}

// await makes the sync of a pod wait for its volumes, as long as a kubelet
// does.
func (f *Fleet) await(now time.Time, r *podRecord, doing activity) {
	ends := now.Add(volumeTimeout)
	if !r.volumesAt.IsZero() && r.volumesAt.Before(ends) {
		ends = r.volumesAt
	}
	r.doing = doing
	f.schedule(r, dueVolumes, ends)
}

// endWait ends a wait for volumes, and reports whether it was long enough. If
// not, the sync has failed.
func (f *Fleet) endWait(now time.Time, r *podRecord) bool {
	r.doing = activityIdle
	if r.volumesAt.IsZero() {
		r.volumeFailures++
	}
	return !r.volumesAt.IsZero() && !now.Before(r.volumesAt)
}
