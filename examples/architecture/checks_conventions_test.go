package architecture

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckValidateReports(t *testing.T) {
	const one, two = `errors.New("a")`, `errors.New("b")`
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing wrong": {"return nil", nil},
		"one problem":   {"if true { return " + one + " }; return nil", nil},
		"joined":        {"return errors.Join(" + one + ", " + two + ")", nil},
		"joined twice":  {"if true { return errors.Join(" + one + ") }; return errors.Join()", nil},
		"the first": {"if true { return " + one + " }; return " + two,
			[]string{"Config.Validate has 2 failing returns"}},
		"one of three is joined": {
			"if true { return " + one + " }; if true { return errors.Join(nil) }; return nil",
			[]string{"2 failing returns"},
		},
		"in a closure": {"f := func() error { return " + one + " }; return errors.Join(f())", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := `a.go:package zone; import "errors"; var _ = errors.New; type Config struct{}; ` +
				"func (Config) Validate() error { " + test.text + " }"
			expect(t, checkValidate(mustType(t, "zone", text)), test.want...)
		})
	}
	other := `a.go:package zone; import "errors"; type config struct{}; func (config) Validate() error { ` +
		"if true { return " + one + " }; return " + two + " }"
	expect(t, checkValidate(mustType(t, "zone", other)))
}

func TestCheckZeroNowReports(t *testing.T) {
	const types = `package zone; import ("errors"; "time"); var _ = errors.New; type Queue struct{}; ` +
		"func made(now time.Time) (*Queue, error) { return nil, nil }; " +
		"func placed(now time.Time) *Queue { return nil }; "
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"refused": {`func NewQueue(now time.Time) (*Queue, error) { ` +
			`if now.IsZero() { return nil, errors.New("zero") }; return nil, nil }`, nil},
		"refused by another": {`func NewQueue(now time.Time) (*Queue, error) { return made(now) }`, nil},
		"accepted": {`func NewQueue(now time.Time) (*Queue, error) { return placed(now), nil }`,
			[]string{"NewQueue accepts a zero now"}},
		"another time is refused": {`func NewQueue(now, due time.Time) (*Queue, error) { ` +
			`if due.IsZero() { return nil, nil }; return nil, nil }`, []string{"NewQueue accepts"}},
		"no time":  {`func NewQueue() (*Queue, error) { return nil, nil }`, nil},
		"not seen": {`func newQueue(now time.Time) *Queue { return nil }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkZeroNow(mustType(t, "zone", "a.go:"+types+test.text)), test.want...)
		})
	}
}

func TestCheckNowFirstReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"first":            {"func (*Queue) ObserveNode(now time.Time, name string) {}", nil},
		"missing":          {"func (*Queue) Forget(key string) {}", []string{"Queue.Forget does not take now"}},
		"second":           {"func (*Queue) Start(key string, now time.Time) {}", []string{"Queue.Start"}},
		"another name":     {"func (*Queue) Next(at time.Time) {}", []string{"Queue.Next"}},
		"another type":     {"func (*Queue) Finish(now time.Duration) {}", []string{"Queue.Finish"}},
		"nothing":          {"func (*Queue) Evaluate() {}", []string{"Queue.Evaluate"}},
		"a longer word":    {"func (*Queue) Observer() {}; func (*Queue) Started() {}", nil},
		"type is not seen": {"type queue int; func (queue) Start() {}", nil},
		"a function":       {"func Start() {}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := `a.go:package zone; import "time"; var _ time.Time; type Queue struct{}; ` + test.text
			expect(t, checkNowFirst(mustType(t, "zone", text), nil), test.want...)
		})
	}
	edge := mustType(t, "zone", "edge.go:package zone; type Sender struct{}; func (Sender) Start() {}")
	expect(t, checkNowFirst(edge, map[string]string{"zone/edge.go": "acts"}))
}

func TestCheckSentencesReports(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"just fits": {"// " + words(25) + ".", nil},
		"too long":  {"// " + words(26) + ".", []string{"zone/a.go:2: 26 words in a sentence, at most 25"}},
		"over two lines": {"// " + words(13) + "\n// " + words(13) + ".",
			[]string{"zone/a.go:2: 26 words"}},
		"two sentences":    {"// " + words(13) + ".\n// " + words(13) + ".", nil},
		"small letter":     {"// " + words(13) + ". kube-proxy " + words(13) + ".", nil},
		"in parentheses":   {"// " + words(13) + " (" + words(5) + ".) " + words(13), nil},
		"two paragraphs":   {"// " + words(20) + "\n//\n// " + words(20), nil},
		"version":          {"// In v1.37.1 " + words(24), []string{"26 words"}},
		"marks":            {"// " + words(25) + " - ►", nil},
		"items":            {"// " + words(20) + "\n//   - " + words(20) + "\n//   - " + words(20), nil},
		"long item":        {"//   - " + words(20) + "\n//     " + words(6), []string{"26 words"}},
		"code":             {"//\t" + words(30), nil},
		"heading":          {"// # " + words(30), nil},
		"directive":        {"//go:generate " + words(30), nil},
		"output":           {"// Output:\n// " + words(30), nil},
		"unordered output": {"// Unordered output:\n// " + words(30), nil},
		"block":            {"/* " + words(26) + " */", []string{"26 words"}},
		"behind code":      {"const x = 1 // " + words(26), []string{"26 words"}},
		"string":           {"const x = `" + words(30) + "`", nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := mustParse(t, "zone/a.go", "package zone\n"+test.text+"\n")
			expect(t, checkSentences(src), test.want...)
		})
	}
}

func TestCheckPhrasesReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"but for":        {"// All but for one.", []string{`zone/a.go:2: the comment says "but for"`}},
		"over two lines": {"// All but\n// for one.", []string{`"but for"`}},
		"takes note":     {"// It takes note that it is.", []string{`"takes note"`}},
		"an example":     {"// It waits, a minute, say.", []string{`", say."`}},
		"plain":          {"// All but the last for one. It may say so.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := mustParse(t, "zone/a.go", "package zone\n"+test.text+"\n")
			expect(t, checkPhrases(src), test.want...)
		})
	}
}

func TestCheckMeaningsReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"look":        {"// It looks at it.", []string{`zone/a.go:2: the comment says "looks"`}},
		"ending":      {"// It is settled, judged and shared.", []string{`"settled"`, `"judged"`, `"shared"`}},
		"lookup":      {"// A lookup of an outlook.", nil},
		"at home":     {"// It is confirmed.", nil},
		"in a string": {`const x = "it settles"`, []string{`the text says "settles"`}},
		"personal":    {`const x = "somebody"`, []string{`the text says "somebody"`}},
		"import":      {`import _ "example.com/look"`, nil},
		"identifier":  {"func looked() {}", []string{`the name looked has the word "looked"`}},
		"one of many": {"func lastLook() {}", []string{`the name lastLook has the word "look"`}},
	} {
		t.Run(name, func(t *testing.T) {
			src := mustParse(t, "zone/a.go", "package zone\n"+test.text+"\n")
			found := append(checkMeanings(src), checkStrings(src)...)
			expect(t, append(found, checkIdentifiers(src)...), test.want...)
		})
	}
	queue := mustParse(t, "timedqueue/a.go", "package timedqueue\n// It settles a share.\n")
	expect(t, checkMeanings(queue))
	test := mustParse(t, "zone/a_test.go",
		"package zone\nfunc look() {}\nfunc TestItLooks() {}\nfunc TestNobodyWaits() { look() }\n")
	expect(t, checkIdentifiers(test), `TestItLooks has the word "looks"`, `the word "nobody"`)
}

func TestDocParagraphsAreThoseOfExportedNames(t *testing.T) {
	const text = `// Package zone is a.
package zone

// F is b.
func F() {
	// c
}

// g is d.
func g() {}

// All are e.
const (
	// X is f.
	X = 1
	// y is h.
	y = 2 // i
)

// S is j.
type S struct {
	// A is k.
	A int // l
	// b is m.
	b int
}
`
	var prose []string
	for _, p := range docParagraphs(mustParse(t, "zone/a.go", text)) {
		prose = append(prose, strings.TrimSpace(p.text))
	}
	slices.Sort(prose)
	want := []string{"A is k.", "All are e.", "F is b.", "Package zone is a.", "S is j.", "X is f.", "l"}
	if !slices.Equal(prose, want) {
		t.Errorf("the prose is %q, want %q", prose, want)
	}
}
