package mutant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `package one

const limit = 9

// Two is one and one.
func Two() int { return 1 + 1 }

type pair[K any] struct{ n, limit int }

func (p *pair[K]) add(_ K, n ...int) {
	for _, n := range n {
		p.n += n
	}
	p.limit = limit
}

func (pair[K]) none(string, int) bool { return false }

func length[K any](all []K, _ bool) int {
	if len(all) == limit {
		return limit
	}
	return len(all)
}

func sum(numbers []int, from int) (total int) {
	total = from
	for i, number := range numbers {
		if i > 0 && number > limit || number < 0 {
			continue
		}
		total += number * (i + 1)
	}
	if total < 0 {
		total = 0
	}
	return max(total, 0)
}
`

// repository makes a module with functions of each form, and a test of them
// that prints what the explorers print.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module mutated.example\n\ngo 1.25\n",
		"one/a.go": sample,
		"one/a_test.go": `package one

import (
	"flag"
	"fmt"
	"testing"
)

var (
	until = flag.String("until", "", "")
	first = flag.Int("first", 1, "")
)

func TestTwo(t *testing.T) {
	p := &pair[string]{}
	p.add("", 2, 3)
	switch {
	case Two() == 3:
		fmt.Println("FOUND", *first+6, *until)
	case Two() == 4:
		fmt.Println("FOUND 8")
	case p.n != 5:
		fmt.Println("FOUND 9")
	case p.none("", 0):
		fmt.Println("FOUND 10")
	case length([]int{1}, true) != 1:
		fmt.Println("FOUND 11")
	case sum([]int{1, 2}, 1) != 6:
		fmt.Println("FOUND", sum([]int{1, 2}, 1))
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

func fault(name, function, rule string) Mutation {
	return New(name, "one", function, rule, Catch{Package: "./one", Until: "it"})
}

// One build holds all mutations, and a run has one of them in place.
func TestEachFaultIsFoundAlone(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	mutations := []Mutation{
		fault("two is three", "Two", "1 + 1 -> 1 + 2"),
		fault("two is four", "Two", "return n -> if true { return 4 }; return n"),
		fault("two is two", "Two", "1 + 1 -> 2"),
		fault("no addition", "(*pair) add", "p.n += n -> p.n = n"),
		fault("some", "(pair) none", "false -> true"),
		fault("too long", "length", "return len(a) -> return len(a) + limit"),
		fault("no length", "length", "limit -> 0").At(2),
		fault("the sum is a product", "sum", "t += n * i -> t += n * i * i"),
	}
	program, err := build(t.Context(), root, "./one", t.TempDir(), mutations)
	require.NoError(t, err)
	search, fails := Catch{Until: "it"}, Catch{}
	for name, want := range map[string]string{
		"two is three": "7 it", "two is four": "8", "no addition": "9", "some": "10", "too long": "11",
		"the sum is a product": "10",
	} {
		by, err := program.catch(t.Context(), name, search)
		require.NoError(t, err, name)
		require.Equal(t, `"it" with seed `+want, by, name)
		_, err = program.catch(t.Context(), name, fails)
		require.ErrorIs(t, err, errNotCaught, "its tests pass")
	}
	by, err := program.catch(t.Context(), "two is three", search.From(20))
	require.NoError(t, err)
	require.Equal(t, `"it" with seed 26 it`, by)
	for _, harmless := range []string{"two is two", "no length"} {
		_, err = program.catch(t.Context(), harmless, search)
		require.ErrorIs(t, err, errNotCaught)
		require.ErrorContains(t, err, "all is well")
		_, err = program.catch(t.Context(), harmless, fails)
		require.NoError(t, err)
	}
	_, err = program.catch(t.Context(), "two is two", Catch{Tests: []string{"-test.run", "None"}})
	require.ErrorIs(t, err, errNotCaught, "no test runs")
	_, err = program.catch(t.Context(), "two is five", search)
	require.ErrorContains(t, err, `no mutation is named "two is five"`)

	after, err := os.ReadFile(filepath.Join(root, "one", "a.go"))
	require.NoError(t, err)
	require.Equal(t, sample, string(after), "the source stays as it is")
}

func TestRunHasAllCaught(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	two := fault("two is two", "Two", "1 + 1 -> 2")
	two.Caught = []Catch{{Package: "./one"}, {Package: "./one", Tests: []string{"-test.run", "Two"}}}
	Run(t, root, []Mutation{fault("two is three", "Two", "1 + 1 -> 3"), two})
}

// A mutation stays as it is when variables are renamed, and when a function is
// formatted, moves to another file, or changes elsewhere.
func TestAMutationSurvivesWhatDoesNotConcernIt(t *testing.T) {
	root := repository(t)
	mutations := []Mutation{
		fault("one", "(*pair) add", "p.n += n -> p.n = n"),
		fault("two", "(p *pair) add(_, n)", "for _, m := range n { p.n += m } -> p.n += len(n)"),
		fault("three", "length(all)", "len(all) == limit -> all == nil"),
		fault("four", "sum(_, from)", "i > 0 && m > limit || m < 0 -> m > from"),
		fault("a constant, not a field of its name", "(*pair) add", "limit -> 5"),
		fault("five", "sum", "if t < 0 { t = 0 }; return max(t, 0) -> return t"),
	}
	require.NoError(t, Fit(root, mutations))
	changed := strings.NewReplacer(
		"p *pair", "self *pair", "p.n += n", "\n// It adds.\nself.n +=\n\tadded", "_, n := range n", "_, added := range more",
		"n ...int", "more ...int", "all []K", "list []K", "len(all) == limit", "len(list) == // the limit\nlimit",
		"len(all)", "len(list)", "total", "result", "number", "item", "from", "start",
	).Replace(sample)
	folder := filepath.Join(root, "one")
	require.NoError(t, os.Remove(filepath.Join(folder, "a.go")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.go"), []byte(changed), 0o600))
	require.NoError(t, Fit(root, mutations), changed)
}

func TestAMutationHasToFit(t *testing.T) {
	root := repository(t)
	fails := func(function, rule string) error {
		return Fit(root, []Mutation{fault("no fault", function, rule)})
	}
	for rule, where := range map[string]string{
		"3 + 3 -> 5": "Two", "1 -> 5": "Two", "limit = 9 -> limit = 5": "Two",
		"n + m -> 5":                    "sum(n, m)", // its parameters are meant
		"f(t) -> t":                     "sum",       // another number of arguments
		"max(t, t) -> t":                "sum",
		"t < 0 -> t == 0":               "sum", // twice
		"return max(t, 0); return -> ":  "sum",
		"return max(t, 0); t = 0 -> ":   "sum",
		"m.limit -> 5":                  "sum",
		"max(t, u...) -> t":             "sum",
		"for _, m := range n {} -> m++": "(*pair) add",
	} {
		err := fails(where, rule)
		require.ErrorIs(t, err, ErrUnfit, rule)
		require.ErrorContains(t, err, `mutation "no fault" of `+where+` in one: `)
	}
	require.ErrorContains(t, fails("Two", "1 -> 2"), "its pattern stands 2 times in\nfunc Two() int { return 1 + 1 }")
	require.ErrorContains(t, fails("(*pair) all", "1 -> 2"),
		"there is no such function; of its name or receiver are\n"+
			"func (p *pair[K]) add(_ K, n ...int)\nfunc (pair[K]) none(string, int) bool")
	require.ErrorIs(t, fails("Two(a)", "1 + 1 -> 2"), ErrUnfit)
	require.ErrorIs(t, fails("(pair) none(a)", "false -> true"), ErrUnfit, "it has no name")
	for rule, want := range map[string]string{
		"1 + 1":                        "has no ->",
		" -> 2":                        "the pattern is empty",
		"1 + -> 2":                     "pattern: 1 +: ",
		"1 + 1 -> 1 +":                 "replacement: 1 +: ",
		"1 + 1 -> 3 }; func three() {": "replacement: 3 }; func three() {: ",
	} {
		require.ErrorContains(t, fails("Two", rule), want)
	}
	require.ErrorContains(t, fails("Two(", "1 + 1 -> 2"), "function: ")

	missing := fault("no folder", "Two", "1 + 1 -> 2")
	missing.Package = "two"
	require.ErrorIs(t, Fit(root, []Mutation{missing}), ErrUnfit)
	require.ErrorIs(t, Fit(root, []Mutation{fault("the third", "Two", "1 -> 2").At(3)}), ErrUnfit)
	twice := fault("twice", "Two", "1 + 1 -> 3")
	require.ErrorContains(t, Fit(root, []Mutation{twice, twice}), `two mutations are named "twice"`)
	twice.Caught = nil
	require.ErrorContains(t, Fit(root, []Mutation{twice}), `mutation "twice" is caught by no tests`)
}

// A replacement stays one expression wherever it stands, and so does what a
// letter stands for.
func TestReplacementsKeepTheirMeaning(t *testing.T) {
	root := repository(t)
	for rule, want := range map[string]string{
		"i + 1 -> i + 2":       "total += number * ((i + 2))",
		"t += n * i -> t += i": "total += (i + 1)",
		"n * i -> i - n":       "total += ((i + 1) - number)",
		"a || b -> b && a":     "if ((number < 0) && (i > 0 && number > limit)) {",
		"from -> -from":        "total = (-from)",
	} {
		all, err := readPackage(filepath.Join(root, "one"))
		require.NoError(t, err)
		m := fault("a fault", "sum(_, from)", rule)
		require.NoError(t, add(all, 1, &m), rule)
		require.Contains(t, string(all[0].mutated()), want, rule)
	}
}

func TestWhatDoesNotCompileIsAnError(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	_, err := build(t.Context(), root, "./one", t.TempDir(), []Mutation{fault("no type", "Two", `1 + 1 -> "three"`)})
	require.ErrorContains(t, err, "build with mutations: ")
	require.ErrorContains(t, err, `no type:1: cannot use "three"`)
}
