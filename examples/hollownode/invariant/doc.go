// Package invariant checks what the kubelets of a fleet have done to a cluster.
// It has no code in common with them: policies, back-offs, orders and what is
// ready are restated here, as simply as possible.
//
//	violations := invariant.Check(history)
//
// A [History] is the truth of a world. It has what the API server has stored
// and which call has caused it. It has each run of each container, from the
// runtime. Nothing of the kubelets' own state is in it.
//
// # Promises
//
// [Invariant] lists them. Those about time hold for stretches in which nothing
// is wrong with a node, its process and the API server. Those about the end
// allow nothing: when the cluster was left alone for long, it is as its users
// want.
package invariant
