// Package timedqueue holds unique keys, each due at a time, and releases them
// at a rate.
//
// It is for work that must not happen at once: tainting the nodes of a zone one
// every ten seconds, evicting a million pods each at its own deadline, sending
// the heartbeats of thousands of nodes from one process. There are three
// pieces, each usable without the next:
//
//   - [Queue] is the core: a heap of keys ordered by due time, then insertion,
//     with a token bucket in front. It has no goroutine and no clock. Time is an
//     argument.
//   - [Group] is many queues under one roof, each with its own rate: one per
//     zone, say. A key is in one of them at most, and can be moved.
//   - [Dispatcher] is the edge. It sleeps until the core has something to start,
//     runs a bounded number of actions, and tells the core how each one ended.
//     It drives any [Core], also yours.
//
// A key goes through a queue like this:
//
//	Add ──► waiting ──Start──► acting ──Finish──► gone        (Done, Nothing)
//	           ▲                  │
//	           └──────────────────┘                           (Failed: after a backoff)
//
// # What it promises
//
// A key is in the queue at most once, and adding it again changes nothing. Only
// an action spends a token: not a look at a queue with nothing due, and not an
// action that found nothing to do, which gives its token back. Remove during an
// action wins over the action's result. A key removed and added again during an
// action waits until that action has ended, so there are never two actions for
// one key at a time. A limit of zero holds everything and loses nothing.
//
// # The caller's duties
//
// A core is not safe for concurrent use. Guard it with the Dispatcher, which is
// a [sync.Locker]: Lock, change the core, Unlock. Unlock wakes the dispatcher.
// Actions run outside that lock.
//
// Every Start must be answered by one Finish; until then the key counts as
// acting and is not started again.
//
// Pass times that carry a monotonic reading, as [time.Now] gives them, and a
// wall clock that is set does not disturb the queue. A due time that was read
// from an API object is wall time only: pass now.Add(due.Sub(now)).
package timedqueue
