// Package explore looks for faults of the controller that no written scenario
// covers. It makes random scenarios, each from a seed, checks each run with
// package judge, and shrinks those that break something.
//
//	go -C examples test ./outage/explore -run TestRandomWorlds \
//	  -args -seeds 100000
//
// A hostile world ([GenerateHostile]) has kubelets that flap or lie, clocks
// that drift, and an API server that fails for all lengths of time. A starved
// one ([GenerateStarved]) has thousands of nodes and 20 calls a second. A
// pausing one ([GeneratePausing]) has flags that pause the cluster. Their tests
// have the flags -hostile, -starved and -pausing.
//
// Sieve's patterns are tried at the writes of the shipped scenarios. The
// process dies before or after one, starts again from an old view, or misses a
// change. What comes out must be the same, within a stated time.
//
// A seed that fails is printed with its scenario as YAML. Both replay it: the
// seed with -first, the file with the program outage.
//
// That it would find something is shown by a list of deliberate faults
// (TestMutations...). Package mutant puts them in, one at a time, and the worlds
// are played. The invariant that is there for the fault has to be violated.
// Some show in the small worlds of package exhaustive.
//
//	go -C examples test ./outage/explore -v -run TestMutations
//	LIFECYCLE_TESTS=all go -C examples test ./outage/explore -v -run TestMutations -timeout 30m
//
// The first checks that all can be put in. The second puts them in, which takes
// minutes.
package explore
