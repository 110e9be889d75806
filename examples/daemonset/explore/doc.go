// Package explore searches for faults of the DaemonSet controller that no
// written test covers. It draws random scenarios, each from a seed. It plays
// each with package simulation, and checks it with package invariant.
//
//	go -C examples test ./daemonset/explore -run TestRandomWorlds \
//	  -args -seeds 100000
//
// A seed that fails is printed with the steps that are needed. It is played
// again with -first and -seeds 1. The same seed is the same history each time.
//
// That it would find something is shown by a list of deliberate faults
// (TestMutations...). Package mutant puts them in, one at a time, and the worlds
// are played. The invariant that is there for the fault has to be violated.
// What too few worlds show is caught by a unit test. Faults of the planner of
// package rollout are in the list too, and played by its random histories: the
// library's module imports no example.
//
//	go -C examples test ./daemonset/explore -v -run TestMutations
//	LIFECYCLE_TESTS=all go -C examples test ./daemonset/explore -v -run TestMutations
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
package explore
