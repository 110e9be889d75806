// Package simulation runs a scenario. It builds the cluster of package model,
// runs processes of the node lifecycle controller in it, and plays the script.
//
// The processes are the real ones except for what waits. They are the reducer
// of nodelifecycle/controller and its edges, which receive events, make calls
// and read their answers. Time passes only from event to event, on one
// goroutine, and the same scenario with the same seed goes the same way.
//
// With cluster.kubelets so are the nodes: see package kubelets.
//
//	s, err := simulation.New(&description)
//	s.World().Watch(witness) // is told everything
//	s.Run()
//
// A witness learns all that happens: see model.Witness. What a controller has
// in its memory, which no API shows, is in [Replica.Knowledge].
package simulation
