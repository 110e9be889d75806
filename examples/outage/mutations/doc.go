// Package mutations shows that the simulator would notice if the library were
// wrong.
//
// A mutation is a deliberate fault: some characters of the library's source and
// what stands there instead. There is one for each of the faults that
// controllers of this kind are known to have had. The test puts them in, one at
// a time, and lets package explore run its random worlds. It wants the
// invariant that is there for it to be violated. Some are for the small worlds
// of package exhaustive.
//
//	go -C examples test ./outage/mutations -v
//	LIFECYCLE_TESTS=all go -C examples test ./outage/mutations -v -timeout 30m
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
//
// Package mutant puts the faults in and builds. Sources stay as they are. When
// the code that a mutation replaces changes, the test says so: the mutation has
// to follow.
package mutations
