// Package network is what lies between the processes of controllers and an API
// server, in virtual time on one goroutine: calls that take time, fail or lose
// their answer, watches that are late, broken or begin in the past, and
// processes that stand still or end.
//
//	n := network.New(network.Config{Start: start, Latency: latency, WatchDelay: delay}, server)
//	client := n.NewClient("controller", 1, woken)
//	client.Inform(network.Nodes, handler)
//	client.Call(&network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a"}, answered)
//	defer n.LoseAnswers(0.1)()
//	for n.Step(time.Hour) {
//	}
//
// It knows no rules of an API server: a [Server] deals with what arrives, and
// announces each change of what it has. It shares nothing with the library that
// is tried out in it, and imports none of it. So what it tells a [Witness] can
// be used to judge the library.
//
// The same seed gives the same run. Nothing here is safe for concurrent use.
package network
