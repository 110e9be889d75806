package model

import "strconv"

// Lock is the lease for which the processes of a controller compete.
type Lock struct {
	// Holder is the process that leads; empty if the lease was given up.
	Holder string
	// Version changes with each update, which has to name the one that it
	// replaces.
	Version uint64
	// Halted says that it carries the annotation that halts its leader.
	Halted bool
}

// GetResourceVersion makes a lock an object that can be watched.
func (l Lock) GetResourceVersion() string { return strconv.FormatUint(l.Version, 10) }

// Lock returns the leader's lease.
func (w *World) Lock() Lock { return w.server.lock }

// lock updates the leader's lease, if it has not changed.
func (w *World) lock(call *Call) {
	if call.Lock.Version != w.server.lock.Version {
		call.Err = conflict(call, "version is "+strconv.FormatUint(w.server.lock.Version, 10))
		return
	}
	w.putLock(Lock{Holder: call.Lock.Holder, Halted: w.server.lock.Halted})
	call.Lock = w.server.lock
}

func (w *World) putLock(lock Lock) {
	lock.Version = w.server.lock.Version + 1
	w.server.lock = lock
	w.announce(change{kind: LeaderLease, object: lock})
}

// Halt puts the annotation on the leader's lease that halts its leader, as an
// operator does, until the returned function takes it off. Of several at once
// the last one takes it off.
func (w *World) Halt() (end func()) {
	w.halts++
	w.setHalted()
	return func() {
		w.halts--
		w.setHalted()
	}
}

func (w *World) setHalted() {
	lock := w.server.lock
	if halted := w.halts > 0; lock.Halted != halted {
		lock.Halted = halted
		w.putLock(lock)
	}
}
