// Package program runs a controller in a simulated cluster as its program does:
// its own core and its own edge, with informers, workers, timers and a leader
// election that stand in virtual time.
//
//	p := program.New(n, program.Config{Name: "labeller", Life: 1, Workers: 2})
//	p.Inform(network.Nodes, handler)
//	p.Perform(jobs)
//	...
//	p.End("crash")
//
// A [Process] is one life. What it hands out is performed by the code that the
// real program runs, which calls the API server through [Clients] and waits for
// the answers. Only what waits for real time is this package's own: the
// dispatcher, and the election.
package program
