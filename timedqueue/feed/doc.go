// Package feed passes what an informer reports, and what we have written
// ourselves, on to a core.
//
// A [Handler] turns the reports of one informer into two events of an object:
// it is seen, or it is gone. It handles these cases of a watch for the core:
//
//   - A deletion that the watch has missed arrives as a tombstone. The object
//     is gone, in its last known state.
//   - An object that was deleted and created again while the watch was broken
//     arrives as one update. The UIDs differ. The old object is gone, then the
//     new one is seen, in one turn of the core.
//   - A watch shows our own writes late. Until then it reports older versions,
//     which lack what we have written. The core sees the written object at
//     once, and none of these.
//
// This package links client-go; package timedqueue does not. It works with any
// core, in a timedqueue.Dispatcher or under a lock of the caller:
//
//	informer ──OnAdd, OnUpdate, OnDelete──► Handler ──Seen, Gone──► core
//	API server ◄─────── action ──Wrote, Deleted──┘
//
// # Own writes
//
// A core keeps no own writes. What it is shown is how things are. For an
// informer that holds in any version: after the API server's store was restored
// from a backup, objects come back that were gone, older ones come in place of
// newer ones, and versions may have been raised on purpose. All that is shown
// to the core as it is reported.
//
// Only an own write outranks a report, and for a bounded time. [Handler.Wrote]
// shows the core the object that the API server has returned, if it is newer
// than what the core has seen. [Handler.Deleted] tells it that an object is
// gone. From then on, older reports under that name are withheld until one of
// these holds:
//
//   - A report is as new as the write, or does not compare with it.
//   - A report goes back, which only a list after a restored backup does.
//   - The informer's store has passed the write, and has an older object all
//     the same. The write is lost.
//   - The informer reports that the object is gone.
//   - The timeout of the write is over. The core is shown what the store has, or
//     is told that the object is gone if it is not there. No other report of it
//     need follow.
//
// The timeout is one minute. It begins when the informer has reached the write:
// with an event of any object of that version or a later one, a bookmark or a
// list. What a watch delivers before, however late, is older than the write, and
// the write is the truth as far as it is known. A watch that works delivers a
// bookmark about once a minute. The timeout also begins when the informer goes
// back, as it does when it lists a restored backup, if versions do not compare,
// and after ten times as long in which the informer delivers but does not reach
// the write.
//
// So a core that follows the truth converges without a restart. It may still
// repeat a write: guard each by UID and version or by what it was computed from,
// and back off.
//
// The store returns how far it is from LastStoreSyncResourceVersion (KEP-5647,
// client-go from v0.36). It counts as not having passed the write if it lacks
// that method, or if its version is empty, lower or does not compare.
//
// # What it promises
//
// A report is one call of Update. A Handler has no goroutine, no timer and no
// clock, and keeps own writes only: one for each name, until its timeout is
// over. Each turn ends the wait for up to 16 writes whose timeout is over.
//
// # The caller's duties
//
// Add a Handler to one informer, and give it the store of that informer; see
// [StoreOf]. The versions of two resources do not compare.
//
// Call Wrote and Deleted outside the lock that Update takes, and before the core
// is told the action's result. Pass only objects that the informer would show.
// Call Expire now and then; [Expiring] does.
//
// Seen gets the same version of an object more than once, for example after a
// resync. Objects belong to the informer's store, and neither Seen nor Gone may
// change them. A transform must keep name, namespace, UID and resource version.
package feed
