// Package edge connects the core of package controller with a cluster. What
// informers report goes in through the handlers of an [Edge]. The API calls of
// a task go out through [Edge.Actions].
//
//	informers ──► Sets, Pods, Nodes, Revisions ──Observe, Forget──► controller
//	API server ◄── Actions ◄────────────────────────────────────────────┘
//
// It serves sets of any kind T that has a typed client, for example
// *appsv1.DaemonSet. Each write is recorded in the handler of its resource
// before the controller gets the result. So the controller sees no report that
// is older than what it has written.
//
// It has no goroutine, no timer and no clock, it logs nothing and counts only
// the requests of a task. So a program that drives the controller with a
// timedqueue.Dispatcher and a simulator that drives it in virtual time run the
// same code. Timeouts, log lines and metrics are wrapped around the Actions by
// the caller, which has a clock.
package edge
