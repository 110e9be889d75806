// Package invariant watches a simulated cluster and says what its node
// lifecycle controller did wrong.
//
// A [Judge] is a model.Witness. It computes what is right from the cluster's
// own truth, which the controller cannot see: what the API server has stored
// and since when, when each heartbeat reached it, what each process has been
// shown. It shares no code with the library that is judged, and imports nothing
// of it, so that a mistake there is not made here again. Where the library
// keeps heaps and queues the judge looks at everything again; it is slow in the
// worst case and obvious always.
//
//	judge := invariant.New(world, settings, subject)
//	world.Watch(judge)
//	// each second or so of the cluster's time:
//	judge.Check()
//	// and when all is over:
//	judge.End()
//	for _, violation := range judge.Violations() { ... }
//
// # Two kinds of invariants
//
// What must never happen is judged when it happens: a pod deleted early, a node
// tainted too fast. It holds for every process at any time, also with old
// caches, failing calls and two leaders; what a process can know is what
// counts, and that is what its watches have shown it and what its own calls
// were answered.
//
// Pods leave for taints or with their whole node, by a delete or through the
// Eviction API, as fast as budgets allow: whatever the flags say, see
// [Settings]. What is judged of that is what the API server is asked for, so
// priorities are not: which of several pods waited for a retry is not known
// outside.
//
// What must happen in time is judged in Check, and only while a controller has
// been able to act for long enough: see [Subject.Calm] and [Settings].
package invariant
