package mutant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository makes a module with functions of each form, and a test of them
// that prints what the explorers print.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module mutated.example\n\ngo 1.25\n",
		"one/a.go": `package one

const limit = 9

// Two is one and one.
func Two() int { return 1 + 1 }

type pair[K any] struct{ n int }

func (p *pair[K]) add(_ K, n ...int) {
	for _, n := range n {
		p.n += n
	}
}

func (pair[K]) none(string, int) bool { return false }

func length[K any](all []K, _ bool) int {
	if len(all) == limit {
		return limit
	}
	return len(all)
}
`,
		"one/a_test.go": `package one

import (
	"fmt"
	"testing"
)

func TestTwo(t *testing.T) {
	p := &pair[string]{}
	p.add("", 2, 3)
	switch {
	case Two() == 3:
		fmt.Println("FOUND 7")
	case Two() == 4:
		fmt.Println("FOUND 8")
	case p.n != 5:
		fmt.Println("FOUND 9")
	case p.none("", 0):
		fmt.Println("FOUND 10")
	case length([]int{1}, true) != 1:
		fmt.Println("FOUND 11")
	default:
		t.Fatal("all is well")
	}
}
`,
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// One build holds all mutations, and a run has one of them in place.
func TestEachFaultIsFoundAlone(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	before, err := os.ReadFile(filepath.Join(root, "one", "a.go"))
	require.NoError(t, err)
	mutations := []Mutation{
		{Name: "two is three", File: "one/a.go", Old: "1 + 1", With: "1 + 2"},
		{
			Name: "two is four", File: "one/a.go",
			Old: "// Two is one and one.\nfunc Two() int {", With: "func Two() int {\n\tif true {\n\t\treturn 4\n\t}\n",
		},
		{Name: "two is two", File: "one/a.go", Old: "return 1 + 1 }\n", With: "return 2 }"},
		{Name: "no addition", File: "one/a.go", Old: "p.n += n", With: "p.n = n"},
		{Name: "some", File: "one/a.go", Old: "return false", With: "return true"},
		{Name: "too long", File: "one/a.go", Old: "return len(all)", With: "return len(all) + limit"},
	}
	program, err := Build(t.Context(), root, "./one", t.TempDir(), mutations)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"two is three": "7", "two is four": "8", "no addition": "9", "some": "10", "too long": "11",
	} {
		seed, err := program.FindSeed(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, want, seed, name)
		require.ErrorIs(t, program.Fails(t.Context(), name), ErrNotCaught, "its tests pass")
	}
	_, err = program.FindSeed(t.Context(), "two is two")
	require.ErrorIs(t, err, ErrNotCaught)
	require.ErrorContains(t, err, "all is well")
	require.NoError(t, program.Fails(t.Context(), "two is two"))
	require.ErrorIs(t, program.Fails(t.Context(), "two is two", "-test.run", "None"), ErrNotCaught, "no test runs")
	_, err = program.FindSeed(t.Context(), "two is five")
	require.ErrorContains(t, err, `no mutation is named "two is five"`)

	after, err := os.ReadFile(filepath.Join(root, "one", "a.go"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the source stays as it is")
}

func TestAMutationHasToFit(t *testing.T) {
	root := repository(t)
	for _, old := range []string{
		"", "1", "3 + 3", // not once
		"limit = 9", "return 1 + 1 }\n\ntype", // not in one function
	} {
		err := Fit(root, []Mutation{{Name: "no fault", File: "one/a.go", Old: old, With: "5"}})
		require.ErrorIs(t, err, ErrUnfit, "%q", old)
		require.ErrorContains(t, err, `mutation "no fault" of one/a.go: `)
	}
	require.ErrorIs(t, Fit(root, []Mutation{{
		Name: "two functions", File: "one/a.go", Old: "return 1 + 1 }", With: "return 3 }\n\nfunc three() {}",
	}}), ErrUnfit)
	require.ErrorIs(t, Fit(root, []Mutation{{Name: "no file", File: "one/b.go", Old: "1", With: "2"}}), os.ErrNotExist)
	require.ErrorContains(t, Fit(root, []Mutation{{Name: "no Go", File: "one/a.go", Old: "1 + 1", With: "1 +"}}),
		`mutation "no Go" of one/a.go: with it in place: `)
	twice := Mutation{Name: "twice", File: "one/a.go", Old: "1 + 1", With: "3"}
	require.ErrorContains(t, Fit(root, []Mutation{twice, twice}), `two mutations are named "twice"`)
}

func TestWhatDoesNotCompileIsAnError(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	_, err := Build(t.Context(), root, "./one", t.TempDir(),
		[]Mutation{{Name: "no type", File: "one/a.go", Old: "1 + 1", With: `"three"`}})
	require.ErrorContains(t, err, "build with mutations: ")
	require.ErrorContains(t, err, `no type:1: cannot use "three"`)
}
