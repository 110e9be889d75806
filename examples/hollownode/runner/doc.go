// Package runner runs the kubelets of package kubelet on a cluster. It adds
// informers, a dispatcher, a heartbeat.Sender, and the edge of package edge.
//
//	r, err := runner.NewRunner(runner.Config{
//		Acting: client, Watching: client, Beating: client, Fleet: "default",
//		Register: nodes,
//	})
//	...
//	go r.Observe(ctx, func() { close(ready) })
//	<-ready
//	err = r.Act(ctx)
//
// Observe may run in each replica, and Act in the one that leads. Act begins
// with the containers that the statuses of pods show. So neither a restart of
// the process nor another leader restarts any. The clients must have no limit.
//
// A node is of the fleet by its label [Label], which other clients may set as
// well.
package runner
