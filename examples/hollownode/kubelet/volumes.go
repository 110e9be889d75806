package kubelet

import "time"

const (
	// volumeTimeout is how long a sync waits for volumes. Source:
	// podAttachAndMountTimeout in pkg/kubelet/volumemanager, v1.37.1.
	volumeTimeout = 2*time.Minute + 3*time.Second
	// longestMount bounds a time that is to last for ever.
	longestMount = 1000 * time.Hour
)

// volumeState is how far the volumes of a pod are:
//
//	absent ─► mounting ─► mounted ─► unmounting ─► absent
//	             └───────────────────────▲
//
// A kubelet that starts again takes those of a pod with a sandbox as mounted.
type volumeState uint8

const (
	volumesAbsent volumeState = iota
	volumesMounting
	volumesMounted
	volumesUnmounting
)

// String returns the name of the state.
func (s volumeState) String() string {
	return [...]string{"absent", "mounting", "mounted", "unmounting"}[s]
}

// volumes are those of a pod. They are a wait with a time, and a failure.
type volumes struct {
	state volumeState
	// failures counts the waits that have failed.
	failures int32
	// readyAt is when they are there, or gone. It is zero before any wait that
	// does not fail.
	readyAt time.Time
}

// reached reports whether the volumes are there, or gone, given how many waits
// for that fail and how long it takes then. It goes on between two waits, as
// the volumes of a kubelet do.
func (v *volumes) reached(now time.Time, state volumeState, failures int, takes time.Duration) bool {
	if v.state != state {
		*v = volumes{state: state}
	}
	if int(v.failures) < failures {
		return false
	}
	if v.readyAt.IsZero() {
		v.readyAt = now.Add(min(takes, longestMount))
	}
	return !now.Before(v.readyAt)
}

// waitUntil returns how long a wait lasts that begins now.
func (v *volumes) waitUntil(now time.Time) time.Time {
	ends := now.Add(volumeTimeout)
	if !v.readyAt.IsZero() && v.readyAt.Before(ends) {
		return v.readyAt
	}
	return ends
}

// endWait ends a wait, and reports whether it was long enough. If not, the wait
// has failed.
func (v *volumes) endWait(now time.Time) bool {
	if v.readyAt.IsZero() {
		v.failures++
		return false
	}
	return !now.Before(v.readyAt)
}
