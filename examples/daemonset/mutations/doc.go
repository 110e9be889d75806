// Package mutations shows that the random worlds of package explore would
// notice if the DaemonSet controller were wrong.
//
// A mutation is a deliberate fault in the controller, or in package daemon or
// its subfolders. Package mutant puts the faults in, one at a time, and package
// explore plays its worlds. The invariant that is there for the fault has to be
// violated. A unit test catches what too few worlds show.
//
//	go -C examples test ./daemonset/mutations -v
//	LIFECYCLE_TESTS=all go -C examples test ./daemonset/mutations -v
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
package mutations
