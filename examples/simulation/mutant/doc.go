// Package mutant puts deliberate faults into sources of this repository and
// builds the tests of a package with them. It is for tests that show that other
// tests would notice if the library were wrong.
//
//	mutations := []mutant.Mutation{{
//		Name: "a conflict is done", File: "daemon/executor.go",
//		Old:  "case apierrors.IsConflict(err):",
//		With: "case false:",
//	}}
//	program, err := mutant.Build(ctx, root, "./explore", folder, mutations)
//	...
//	seed, err := program.FindSeed(ctx, "a conflict is done", "-until", "Quiet")
//
// Sources stay as they are. The go command reads other files in the place of
// those with a fault (-overlay). When the code that a mutation replaces
// changes, [Fit] returns an error, and the mutation has to follow.
//
// One binary holds all mutations, because a build is what costs. Each run of it
// has one in place.
package mutant
