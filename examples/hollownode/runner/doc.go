// Package runner runs the kubelets of package kubelet on a cluster. It adds
// informers, a dispatcher, a heartbeat.Sender, and the edge of package edge.
//
//	r, err := runner.NewRunner(runner.Config{
//		Acting: client, Watching: client, Beating: client, Fleet: "default",
//		Register: nodes,
//	})
//	...
//	err = r.Run(ctx)
//
// Run is Observe and Act. With several replicas each observes, and the one that
// leads acts. Act begins with the containers that the statuses of pods show. So
// neither a restart of the process nor another leader restarts any. The clients
// must have no limit.
//
// A node is of the fleet by its label [Label], which other clients may set as
// well. It is silent by its annotation, or by [Runner.SetSilent].
package runner
