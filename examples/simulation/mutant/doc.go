// Package mutant puts deliberate faults into functions of this repository and
// has tests of it run with them. It is for tests that show that other tests
// would notice if the library were wrong.
//
// A [Mutation] names a function and has a rule, as gofmt -r has it: what stands
// in the function and what stands there instead.
//
//	var mutations = []mutant.Mutation{
//		mutant.New("a conflict is done", "daemon/rollout", "(*Executor) execute",
//			"apierrors.IsConflict(e) -> false",
//			mutant.Catch{Package: "../explore", Until: "Quiet"}),
//	}
//
//	func TestMutationsAreCaught(t *testing.T) {
//		mutant.Run(t, "../../..", mutations)
//	}
//
// A rule is about the syntax of one function. So a mutation stays as it is when
// the function moves to another file, is formatted, or changes elsewhere. A
// small letter stands for any expression, so it stays as it is when variables
// are renamed, too. When the code that a mutation replaces changes, [Fit]
// returns an error, and the mutation has to follow.
//
// Sources stay as they are. The go command reads other files in the place of
// those with a fault (-overlay). One binary of a package's tests holds all
// mutations, because a build is what costs. Each run of it has one in place.
package mutant
