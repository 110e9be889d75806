package eviction

import "sync/atomic"

// A cancelSignal tells an action that its task is moot. The tracker, under its
// caller's lock, and the action, on its own goroutine, share nothing else. If
// the action took the lock to ask, it would wait for decisions about other
// pods.
type cancelSignal struct{ atomic.Bool }
