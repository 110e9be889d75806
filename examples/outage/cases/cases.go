// Package cases holds mass failures at their full size, each a scenario file in
// this folder. It has thousands of nodes, the default flags, and what must come
// out. They are cases in which controllers of this kind, this one among them,
// were seen to decide too late, too early or not at all.
//
//	go -C examples run ./outage outage/cases/silent-cluster.yaml --check
//
// The folder scenarios has smaller ones, made to be watched.
package cases
