package eviction

import "sync/atomic"

// A signal tells an action that it is called off. The tracker, behind its caller's
// lock, and the action, on a goroutine of its own, have nothing else in common; an
// action that took the lock to ask would wait for decisions about other pods.
type signal struct{ atomic.Bool }
