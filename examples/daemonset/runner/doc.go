// Package runner runs the DaemonSet controller of package controller on a
// cluster. It adds informers, a dispatcher, and the edge of package edge.
//
//	r, err := runner.NewRunner(runner.Config{Acting: client, Watching: client})
//	...
//	go r.Observe(ctx, func() { close(ready) })
//	<-ready
//	err = r.Act(ctx)
//
// Observe may run in each replica, and Act in the one that leads. The acting
// client must have no limit of its own, because the controller keeps the budget
// of requests. It should not wait for the Retry-After of an answer either, see
// eviction.WithoutRetryAfter.
package runner
