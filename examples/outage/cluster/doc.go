// Package cluster makes a scenario of a cluster that exists: of its nodes,
// pods, leases, budgets and owners. [Import] is a pure function of the objects.
// They come from [Decode], which reads the output of kubectl:
//
//	kubectl get nodes,leases,pods,pdb,deployments,daemonsets,replicasets,statefulsets,jobs -A -o json
//
// or from [List], which needs the rights of clusterrole.yaml and no others.
//
// # What is taken over
//
// Nodes, by zone, pool, rack, taints and whether they are cordoned. Workloads,
// with how many pods are in which group of nodes, their tolerations, priority
// and PodDisruptionBudget, and the pools that their node selectors and required
// node affinity allow. The interval of heartbeats, a quarter of the leases'
// duration. The flags of kube-controller-manager, if its pod is there.
//
// # What is not
//
// The scenario language has no words for some of it. Import returns a note for
// each kind of thing that it has met and left out or changed. Never in a
// scenario are the names of nodes, which are called after their zone, requests
// and room for pods: every pod that is replaced finds a node.
package cluster
