// Package feed passes what an informer reports on to a core.
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
//     which lack what we have written. They are withheld.
//
// This package links client-go; package timedqueue does not. It works with any
// core, in a timedqueue.Dispatcher or under a lock of the caller:
//
//	informer ──OnAdd, OnUpdate, OnDelete──► Handler ──Seen, Gone──► core
//	API server ◄──────── action ──Wrote───────┘
//
// # Own writes
//
// [Handler.Wrote] records the version of an object that the API server has
// returned for a write. From then on, a report of an older version of that
// object is withheld until one of these holds:
//
//   - The informer's store has passed the write. The core sees the store's
//     present object in place of the older report.
//   - A report of the informer is at least as new as the write. Reports arrive
//     in the order in which the store has changed, so no older one follows.
//   - The object is gone.
//   - OwnWriteTimeout is over. This bounds the harm when the versions of the
//     API server have gone back, as after a restored backup.
//
// When the last report or the timeout ends the wait, and the store still holds
// an older version of the object, the write is lost. The core sees the store's
// object then, because no other report of it need follow.
//
// The store returns its version from LastStoreSyncResourceVersion (KEP-5647,
// client-go from v0.36). It counts as not having passed the write if it lacks
// that method, or if its version is empty, lower or does not compare. A report
// whose own version does not compare with that of the write is never withheld.
//
// # What it promises
//
// A report is one call of Observe. A Handler has no goroutine, no timer and no
// clock, and keeps own writes only. Each report or write also forgets up to 16
// writes whose timeout is over.
//
// # The caller's duties
//
// Add a Handler to one informer, and give it the store of that informer. The
// versions of two resources do not compare.
//
// Call Wrote outside the lock that Observe takes, and before the core is told
// the action's result. The core takes the written object from that result, and
// Wrote does not show it.
//
// Seen gets the same version of an object more than once, for example after a
// resync. Objects belong to the informer's store, and neither Seen nor Gone may
// change them. A transform must keep name, namespace, UID and resource version.
//
// # Watches that are alive
//
// [Pulses] reports which informers have received something. A core that must
// know how late a change may arrive is told so once a second.
package feed
