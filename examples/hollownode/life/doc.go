// Package life is one life of the kubelets of hollow nodes in virtual time: the
// fleet and the edge of the real program, with the heartbeats of package
// heartbeat. It is what a simulation puts into its world, in place of the
// program's informers, dispatcher and sender of heartbeats, which wait for real
// time.
//
//	l, err := life.New(life.Config{Fleet: fleet, Runtime: runtime, Now: n.Now, Wake: p.Wake, ...})
//	p.Perform(l.Jobs())
//	p.Inform(network.Nodes, l.Edge.Nodes)
//	p.Inform(network.Pods, l.Edge.Pods)
//
// A process of package program performs the jobs of hollownode/simulation, with
// calls that take time. Those of outage/kubelets are performed by [Life.Turn]: each
// call is answered before it returns.
package life
