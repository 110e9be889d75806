// Package cluster makes a scenario of a cluster that exists: of its nodes,
// pods, leases, budgets and owners. [Import] is a pure function of the objects.
// They come from [Decode], which reads what the [Command] prints, or from
// [List], which needs the rights of clusterrole.yaml and no others.
//
// # What is taken over
//
// Nodes, by zone, pool, rack, taints and whether they are cordoned. Workloads,
// by how many pods are in which group of nodes. Their tolerations, priorities
// and PodDisruptionBudgets, and the pools that node selectors and required node
// affinity allow. The interval of heartbeats, a quarter of the leases'
// duration. The flags of kube-controller-manager, if its pod is there.
//
// # What is not
//
// The scenario language has no words for some of it. Import returns a note for
// each kind of thing that it has met and left out or changed. Two things are
// never in a scenario. Nodes are called after their zone, not by their names.
// Requests of pods, room on nodes and volumes do not count: every pod that is
// replaced finds a node, in any zone of its pools.
package cluster
