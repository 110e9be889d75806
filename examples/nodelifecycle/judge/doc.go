// Package judge watches a simulated cluster and says what its node lifecycle
// controller has done wrong, as a user of the cluster would.
//
//	judge := judge.New(world, settings, subject)
//	world.Watch(judge)
//	// each second or so of the cluster's time:
//	judge.Check()
//	// and when all is over:
//	judge.End()
//	for _, violation := range judge.Violations() { ... }
//
// A [Judge] is a model.Witness. It shares no code with the library and imports
// none of it, so a mistake there is not repeated here. It goes by facts: what
// the API server has stored and since when, which machines have beaten, what
// has reached a process and when, and which calls the process has sent. It does
// not follow what the controller does with that.
//
// # What it finds
//
// Each outcome has a file with its rules, and an [Invariant] for each of them. A
// rule is a function whose comment says it, in the list at the top of its file:
//
//	early.go     a pod left, or a node was declared, before its time
//	wrong.go     a node was tainted in an outage, another's taint was changed
//	toofast.go   nodes of a zone, or pods of a budget, faster than allowed
//	twice.go     a call whose outcome is known was sent again
//	late.go      a node waits longer than what excuses it lasts
//	lost.go      a pod does, for ever: what is late is looked for until the end
//	notstable.go calls, or memory, though nothing has changed for long
//
// What must never happen is judged when it happens, for every process, also
// with old caches, failing calls and two leaders. What must happen in time is
// judged in Check, for the process that acts in a calm: see [Subject].
//
// # What a process can know
//
// A call can have been decided Settings.queueing before it was sent, or before
// the process stood still. The process may have gone by the versions of a node
// and a pod that its watches showed then, and by all later ones: of these the one
// counts that accuses least.
//
// In a calm what is stored reaches the process that acts within Settings.lag. A
// node counts as ready in its zone if its Ready says so, and it was heard within
// a grace period. It is in doubt from then until the process must have found out,
// and counts as whatever accuses less. From this follows by pure functions which
// rates a zone may have, and whether all zones are down or a flag asks for a
// pause: see cluster.
//
// # Bounds
//
// A taint or an illness that has a time counts from that time and a second, or
// from when it was stored. If it appeared while the process watched, it counts
// from ten seconds before at most. [E2]
//
// Beats count that were stored before the last read of the lease, if that was
// within ten seconds. Time in which the process could not hear of any, for longer
// than Settings.BlindAfter, is no silence. [H4]
//
// Between any two moments a zone or a budget has no more tokens than its highest
// rate times that, and its burst. [Q3, Q10]
//
// What is late has Settings.Bound, and what news and calls may take, from what
// asks for it, and from Settings.CalmBound after the calm began. The time in which
// the process had as many calls under way as it may is given back to it. So is
// what the calls of the same kind, that it has sent since, take of their reserved
// part of the rate. Objects that clients write to again and again are written to
// late: 30 s, or 5 s to protect pods. [C1, C2, Q12]
package judge
