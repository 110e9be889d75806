// Package cluster is an API server in a network: objects in memory that the
// clients of package network call and watch, with the rules of package
// apiserver.
//
//	c := cluster.New(cluster.Config{Namespace: "shop", Stored: record})
//	p := program.New(c.Network, program.Config{Name: "controller", Workers: 4})
//	err := c.Users().Create(network.Pods.Resource(), pod)
//	for c.Step(time.Hour) {
//	}
//
// Nothing in it acts by itself. Package examples/outage/model is a cluster with
// machines, a scheduler and workloads.
package cluster
