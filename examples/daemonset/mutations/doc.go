// Package mutations shows that the random worlds of package explore would
// notice if the DaemonSet controller were wrong. It shows the same of the
// random histories in the tests of package daemon, and its planner.
//
// It has a list of deliberate faults for each. Package mutant puts them in, one
// at a time, and the worlds or histories are played. The invariant that is
// there for the fault has to be violated. A unit test catches what too few
// worlds show. The planner's list is here, because the library's module imports
// no example.
//
//	go -C examples test ./daemonset/mutations -v
//	LIFECYCLE_TESTS=all go -C examples test ./daemonset/mutations -v
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
package mutations
