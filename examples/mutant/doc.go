// Package mutant puts deliberate faults into sources of this repository and
// builds the tests of a package with them. It is for tests that show that other
// tests would notice if the library were wrong.
//
//	m := mutant.Mutation{
//		Name: "a conflict is done", File: "daemon/executor.go",
//		Old: "case apierrors.IsConflict(err):", With: "case false:",
//	}
//	program, err := m.Build(ctx, root, "./daemonset/explore", folder)
//	...
//	seed, err := mutant.FindSeed(ctx, program, "-until", "OthersUntouched")
//
// Sources stay as they are. The go command reads another file in the place of
// the one with the fault (-overlay). When the code that a mutation replaces
// changes, [Mutation.Source] returns an error, and the mutation has to follow.
//
// Each fault compiles the packages that depend on it, which nothing reads
// again. [Main] keeps them out of the cache of the go command.
package mutant
