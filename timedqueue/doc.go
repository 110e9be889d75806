// Package timedqueue holds unique keys, each due at a time, and releases them
// under budgets.
//
// It is for work that must not happen all at once: tainting a zone's nodes,
// evicting a million pods, renewing thousands of leases. There are two pieces,
// each usable without the other:
//
//   - [Queue] is the core: keys ordered by due time, with budgets in front. It
//     has no goroutine and no clock. Time is an argument.
//   - [Dispatcher] is the edge. It sleeps until the core has something to
//     start, runs a bounded number of actions, and passes each result to the
//     core. It drives any [Core]; [InOrder] and [RoundRobin] compose several,
//     and a [Throttle] limits what several spend together.
//
// A key goes through a queue like this:
//
//	Add ──► waiting ──Start──► acting ──Finish──► gone      (done, skipped)
//	           ▲                  │
//	           └──────────────────┘      (failed, continued, postponed: at a time)
//
// # Budgets
//
// A [Budget] limits how many actions start a second, of all items or of each
// share. A share is the items of one zone, node or namespace, for example. An
// item starts when each budget has a token for it, and one that waits for a
// scarce share does not delay the others. The limit of a share can be changed at
// any time; zero holds its items and loses none. A budget can also bound how
// many items of a share are acted on at a time.
//
// # What it promises
//
// A key is in the queue at most once, and adding it again changes nothing.
// [Queue.Set] says again and again what is due, and never ends the backoff of a
// key that fails. Only an action spends tokens; those of an action that did
// nothing are returned. A poll of a queue with nothing due spends none. Remove
// during an action wins over the action's result. A key that is removed and
// added again during an action waits until that action has ended. So there are
// never two actions for one key at a time. The zero value of a result is a
// failure.
//
// An action that panics has failed. The panic is logged with its stack and
// counted. Run then stops and returns [ErrPanic]. While it has a free worker, it
// polls the core at least every ten seconds.
//
// # The caller's duties
//
// A core is not safe for concurrent use. Once Run may run, use it only inside
// [Dispatcher.Update] or [Dispatcher.View]. Only Update wakes the dispatcher.
// Neither may be called inside the other or by the core. Actions run outside
// that lock.
//
// Answer each Start with one Finish; until then the key counts as acting and is
// not started again.
//
// Pass times that carry a monotonic reading, as [time.Now] returns them. A
// change of the wall clock then does not disturb the queue. A due time that was
// read from an API object is wall time only: pass now.Add(due.Sub(now)).
package timedqueue
