// Package mutations shows that the simulator would notice if the library were
// wrong.
//
// It has a list of deliberate faults, one for each that controllers of this
// kind are known to have had. Package mutant puts them in, one at a time, and
// package explore plays its random worlds. The invariant that is there for the
// fault has to be violated. Some show in the small worlds of package
// exhaustive.
//
//	go -C examples test ./outage/mutations -v
//	LIFECYCLE_TESTS=all go -C examples test ./outage/mutations -v -timeout 30m
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
package mutations
