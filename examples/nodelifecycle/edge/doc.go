// Package edge connects the reducer of package controller with a cluster. What
// informers report goes in through [Handlers]; the API calls of an action go
// out through a [Performer].
//
//	informers ──► Handlers ──Observe, Forget──► controller.Controller
//	API server ◄── Performer ◄──── controller.Actions ◄─┘
//
// What the API server has returned goes in through the [Handlers] before the
// controller is told the result of its task. So its own writes and reads
// outrank a watch that is late; see package feed.
//
// It has no goroutine, no timer and no clock, it logs nothing and counts
// nothing. So a program that drives the reducer with a timedqueue.Dispatcher
// and a simulator that drives it in virtual time run the same code. Timeouts,
// log lines and metrics are wrapped around the methods of a [Performer] by the
// caller, which has a clock.
package edge
