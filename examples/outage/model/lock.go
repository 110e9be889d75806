package model

import "strconv"

// Lock is the lease for which the processes of a controller compete.
type Lock struct {
	// Holder is who leads; empty if the lease was given up.
	Holder string
	// Version changes with each update, which has to name the one that it replaces.
	Version uint64
}

// Lock returns the leader's lease.
func (w *World) Lock() Lock { return w.server.lock }

// lock updates the leader's lease, if it has not changed.
func (w *World) lock(call *Call) {
	if call.Lock.Version != w.server.lock.Version {
		call.Err = conflict(call, "version is "+strconv.FormatUint(w.server.lock.Version, 10))
		return
	}
	w.server.lock = Lock{call.Lock.Holder, w.server.lock.Version + 1}
	call.Lock = w.server.lock
}
