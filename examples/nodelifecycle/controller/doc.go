// Package controller is a whole node lifecycle and taint eviction controller, as
// a reducer: nodes, leases, pods and time go in, actions come out.
//
// It composes the library's packages and adds only what ties them together:
//
//	            nodehealth.Monitor ── silent nodes ──► DeclareUnknown
//	Observe ──► zone.Tracker ── rates, phase ──┐
//	            timedqueue.Group ── releases ──┴─────► PatchTaints, PatchLabels
//	            taints.Reconcile ── what a node needs ─┘
//	            pods of a node that is not ready ────► MarkPodNotReady
//	            eviction.Tracker ── pods due ────────► Evict
//
// A Controller has no clock, no goroutine and no client. A
// timedqueue.Dispatcher drives it in a program, a simulator can drive it in
// virtual time. Every Action says all that is needed to perform it; what came of
// it goes back through Finish, with the object as the API server has it then.
//
// It is level triggered. What is written nowhere but in memory is only what a
// restart may lose: since when nodes are silent, and which nodes wait for their
// zone's rate. Everything else is read off the objects again.
//
// # From silence to eviction
//
// A node whose grace period ends is declared: its conditions become Unknown. The
// changed conditions, like those that a kubelet reports itself, ask for
// NoSchedule taints at once and put the node into its zone's queue. The queue
// releases it at the rate that the state of its zone allows, not before that
// state is known, and not at all while every zone is dead; then it gets its
// NoExecute taint. That taint gives each of its pods a deadline.
package controller
