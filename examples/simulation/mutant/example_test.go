package mutant_test

import (
	"fmt"

	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// The letter a stands for any expression, and few for the first parameter,
// whatever its name is. What does not fit is shown next to what there is.
func Example() {
	fault := mutant.New("each run is a short one", "examples/simulation/seeds", "Sized(few)",
		"return a -> return few",
		mutant.Catch{Package: "../seeds", Tests: []string{"-test.run", "HowLong"}})
	fmt.Println(mutant.Fit("../../..", []mutant.Mutation{fault}))
	fmt.Println(mutant.Fit("../../..", []mutant.Mutation{fault.At(1)}))
	// Output:
	// mutation "each run is a short one" of Sized(few) in examples/simulation/seeds: the mutation does not fit the source: its pattern stands 2 times in
	// func Sized(few, all int) int {
	// 	if Full() {
	// 		return all
	// 	}
	// 	return few
	// }
	// <nil>
}
