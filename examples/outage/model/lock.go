package model

import "github.com/kubelife/lifecycle/examples/simulation/network"

// Lock returns the leader's lease.
func (w *World) Lock() network.Lock { return w.server.lock }

func (w *World) putLock(lock network.Lock) {
	lock.Version = w.server.lock.Version + 1
	w.server.lock = lock
	w.Announce(network.Change{Kind: network.LeaderLease, Object: lock})
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
