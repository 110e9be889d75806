package architecture

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The tests of this file are about the checks that need types. A package is
// given as its files, each of them beginning with its name.

// mustType type-checks a package of sources like "name.go: package zone; ...".
func mustType(t *testing.T, folder string, files ...string) typedPackage {
	t.Helper()
	fset := token.NewFileSet()
	var sources []source
	for _, file := range files {
		name, text, _ := strings.Cut(file, ":")
		src, err := parseInto(fset, folder+"/"+name, text)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	return typeCheck(t, folder, sources)
}

// drawn is a doc.go that draws the given layers, the highest first.
func drawn(lines ...string) string {
	return "doc.go:// Package zone.\n//\n// # Layers\n//\n// Text.\n//\n//\t" +
		strings.Join(lines, "\n//\t") + "\npackage zone"
}

func TestCheckLayersReports(t *testing.T) {
	const (
		low = "low.go:package zone; const limit = 3; " +
			"type record struct { due int }; func (*record) move() {}"
		sibling = "sibling.go:package zone; type pair struct { left int }"
		high    = "high.go:package zone; func act(r *record) { r.move(); r.due++ }"
	)
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"downward":        {[]string{drawn("high", "low  sibling"), low, sibling, high}, nil},
		"within a line":   {[]string{drawn("high low sibling"), low, sibling, high}, nil},
		"a layer between": {[]string{drawn("high", "sibling", "low"), low, sibling, high}, nil},
		"doc has a place": {[]string{drawn("high", "low", "doc") + "; type pair int", low, high}, nil},
		"upward": {[]string{drawn("low", "high"), low, high},
			[]string{"3 uses run upward", "high.go:1:27: upward: high uses record, which low above it",
				"uses move", "uses due"}},
		"upward method": {[]string{drawn("low", "high"), low,
			"high.go:package zone; func act(r interface{ move() }) { r.move() }"}, nil},
		"upward constant": {[]string{drawn("low", "high"), low,
			"high.go:package zone; var most = limit"}, []string{"1 uses", "uses limit"}},
		"upward field": {[]string{drawn("low", "high", "type"),
			"type.go:package zone; type outer struct { *record }", low,
			"high.go:package zone; func act(o outer) int { return o.due }"},
			[]string{"2 uses", "type uses record", "high uses due"}},
		"upward literal": {[]string{drawn("low", "high"), low,
			"high.go:package zone; var first = record{due: 1}"},
			[]string{"2 uses", "uses record", "uses due"}},
		"upward receiver": {[]string{drawn("low", "high"), low,
			"high.go:package zone; func (r record) act() {}"}, []string{"1 uses", "uses record"}},
		"generic": {[]string{drawn("low", "high"),
			"low.go:package zone; type set[K comparable] struct { of map[K]int }",
			"high.go:package zone; func act(s *set[string]) { clear(s.of) }"},
			[]string{"2 uses", "uses set", "uses of"}},
		"circle": {[]string{drawn("high low", "sibling"),
			"low.go:package zone; func f() { g() }", sibling, "high.go:package zone; func g() { f() }"},
			[]string{"low.go:1:26: in a circle: low uses g of high", "high uses f of low"}},
		"circle of three": {[]string{drawn("a b c d"), "a.go:package zone; func f() { g() }",
			"b.go:package zone; func g() { h() }", "c.go:package zone; func h() { f() }",
			"d.go:package zone; func i() { f() }"}, []string{"a uses g", "b uses h", "c uses f"}},
		"file of another": {[]string{drawn("time", "high"), "time.go:package zone",
			`high.go:package zone; import "time"; var first time.Time`}, nil},
		"left out": {[]string{drawn("high", "low"), low, sibling, high},
			[]string{"leaves out sibling"}},
		"left out and up": {[]string{drawn("low"), low, high}, []string{"leaves out high"}},
		"doc left out":    {[]string{drawn("low") + "; type pair int", low}, []string{"leaves out doc"}},
		"no such file": {[]string{drawn("high", "middle", "low"), low, high},
			[]string{"names middle, and there is no such file"}},
		"drawn twice": {[]string{drawn("high", "low high"), low, high},
			[]string{"names high twice"}},
		"no drawing": {[]string{"doc.go:// Package zone.\npackage zone", low},
			[]string{"draws no layers"}},
		"another section": {[]string{"doc.go:// # Layers\n//\n// # Use\n//\n//\tlow\npackage zone", low},
			[]string{"draws no layers"}},
		"another heading": {[]string{"doc.go:// # Use\n//\n//\tlow\npackage zone", low},
			[]string{"draws no layers"}},
		"the second block": {[]string{
			"doc.go:// # Use\n//\n//\ta\n//\n// # Layers\n//\n//\tlow\npackage zone", low,
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkLayers(mustType(t, "zone", test.files...)), test.want...)
		})
	}
}

func TestCheckUndrawnReportsStaleEntries(t *testing.T) {
	const low = "low.go:package zone; func f() {}"
	const high = "high.go:package zone; func g() { f() }"
	expect(t, checkUndrawn(mustType(t, "zone", drawn("high", "low"), low, high)),
		"zone, which draws its layers")
	expect(t, checkUndrawn(mustType(t, "zone", drawn("low", "high"), low, high)))
	expect(t, checkUndrawn(mustType(t, "zone", low, high)))
	expect(t, checkListed("undrawnPackages", []string{"zone", "gone"}, []string{"zone"}),
		"undrawnPackages lists gone")
}

func TestTypedFoldersHoldPackagesOfTheProgramsToo(t *testing.T) {
	folders := typedFolders(t, typedPrograms)
	for _, want := range []string{"daemon", "timedqueue", "zone",
		"examples/nodelifecycle/controller"} {
		if !slices.Contains(folders, want) {
			t.Errorf("%s is not among the checked packages %q", want, folders)
		}
	}
}

func TestCheckEngineReports(t *testing.T) {
	const (
		record = "type record struct { due, deadline, wakeAt, seen time.Time; " +
			"retryAt, age time.Duration; object metav1.Time; dueCount int }; "
		compare = "compares a due time"
	)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"heap imported": {`import _ "container/heap"`, []string{"imports container/heap"}},
		"heap by hand": {
			`type line []int
func (l line) Len() int { return 0 }
func (l line) Less(i, j int) bool { return false }
func (l *line) Swap(i, j int) {}`,
			[]string{"line has the methods of a heap"},
		},
		"heap, unexported": {
			`type line []int
func (l line) less(i, j int) bool { return false }
func (l line) swap(i, j int) {}`,
			[]string{"line has the methods of a heap"},
		},
		"an order alone": {`type line []int; func (l line) less(i, j int) bool { return false }`, nil},
		"ldexp": {`import "math"; var d = math.Ldexp(1, 3)`,
			[]string{"uses math.Ldexp"}},
		"pow, renamed":      {`import m "math"; var raise = m.Pow`, []string{"uses math.Pow"}},
		"other mathematics": {`import "math"; var d = math.Inf(1)`, nil},
		"shift": {
			`import "time"; func f(d time.Duration, n int) time.Duration { return d << n }`,
			[]string{"shifts a duration"},
		},
		"shift in place": {`import "time"; func f(d time.Duration) { d <<= 1 }`,
			[]string{"multiplies a duration in place"}},
		"doubled in place": {`import "time"; func f(d time.Duration) { d *= 2 }`,
			[]string{"multiplies a duration in place"}},
		"twice an interval": {
			`import "time"; func f(d time.Duration) time.Duration { return 2 * d }`,
			nil,
		},
		"shift of a number": {`func f(n uint64) uint64 { n <<= 1; return n << 3 }`, nil},
		"due first": {
			record + `func f(r record, now time.Time) bool { return r.due.After(now) }`,
			[]string{compare},
		},
		"now first": {
			record + `func f(r record, now time.Time) bool { return !now.Before(r.deadline) }`,
			[]string{compare},
		},
		"at": {
			record + `func f(r record, at time.Time) bool { return at.Compare(r.wakeAt) > 0 }`,
			[]string{compare},
		},
		"equal": {
			record + `func f(r record, now time.Time) bool { return now.Equal(r.due) }`,
			[]string{compare},
		},
		"a clock's now": {
			record + `func now() time.Time { return time.Time{} }
func f(r record) bool { return now().After(r.due) }`,
			[]string{compare},
		},
		"a field now": {
			record + `type core struct { now time.Time }
func (c core) f(r record) bool { return c.now.After(r.due) }`,
			[]string{compare},
		},
		"a method due": {
			record + `func (r record) dueTime() time.Time { return r.seen }
func f(r record, now time.Time) bool { return now.After(r.dueTime()) }`,
			[]string{compare},
		},
		"due later on": {
			record + `func f(r record, now time.Time) bool { return now.After(r.due.Add(3)) }`,
			[]string{compare},
		},
		"a sum": {
			record + `func f(r record, now time.Time) bool { return now.After(r.seen.Add(r.age)) }`,
			[]string{compare},
		},
		"a time of the API": {
			record + `func f(due metav1.Time, now time.Time) bool { return due.After(now) }`,
			[]string{compare},
		},
		"durations": {
			record + `func f(r record, now time.Duration) bool { return r.retryAt <= now }`,
			[]string{compare},
		},
		"a difference": {
			record + `func f(r record, now time.Time) bool { return r.due.Sub(now) > 0 }`,
			[]string{compare},
		},
		"two due times": {
			record + `func f(r, other record) bool { return r.due.Before(other.due) }`,
			nil,
		},
		"a past time": {
			record + `func f(r record, now time.Time) bool { return r.seen.Before(now) }`,
			nil,
		},
		"a clamp": {
			record + `type core struct { now time.Time }
func (c core) f(now time.Time) bool { return now.After(c.now) }`,
			nil,
		},
		"no time": {
			record + `func f(r record, now int) bool { return r.dueCount < now }`,
			nil,
		},
		"a count of what is due": {
			record + `func f(r record, now time.Duration) bool {
return r.age*time.Duration(r.dueCount) < now }`,
			nil,
		},
		"a field at": {
			record + `type write struct { at time.Time }
func f(r record, w write) bool { return r.due.Before(w.at) }`,
			nil,
		},
		"a word inside": {
			`import "time"
func f(overdue, awakened, residue, now time.Time) bool { return overdue.After(now) ||
awakened.After(now) || residue.After(now) }`,
			nil,
		},
		"inside a nested function": {
			record + `func f(r record) any { return func(now time.Time) bool { return now.After(r.due) } }`,
			[]string{compare},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := test.text
			if strings.HasPrefix(text, record) {
				text = `import ("time"; metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"); ` + text
			}
			found := checkEngine(mustType(t, "nodehealth", "a.go:package nodehealth; "+text))
			expect(t, checkExceptions("exceptions", nil, found), test.want...)
		})
	}
}

func TestCheckExceptionsReportsStaleEntries(t *testing.T) {
	found := checkEngine(mustType(t, "zone", `a.go:package zone
import "math"
import "time"
type record struct { due time.Time }
var double = math.Exp2(3)
func grow() float64 { return math.Pow(2, 3) + math.Exp(2) }
func (r *record) late(now time.Time) bool { return now.After(r.due) }
`))
	expect(t, checkExceptions("list", map[string]string{"zone/a.go grow": "must"}, found),
		"zone/a.go:5:14: uses math.Exp2: a timedqueue.Backoff grows the pauses (in zone/a.go double)",
		"zone/a.go:7:52: compares a due time with the present: timedqueue does that "+
			"(in zone/a.go record.late)")
	expect(t, checkExceptions("list", map[string]string{
		"zone/a.go double": "must", "zone/a.go grow": "", "zone/a.go record.late": "must",
		"zone/a.go shrink": "must",
	}, found), `list gives no reason for "zone/a.go grow"`,
		`stale entry: list lists "zone/a.go shrink"`)
}

func TestCheckEnumsReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"its type": {`type Outcome string; const OutcomeDone Outcome = "Done"`, nil},
		"the type's last word": {
			`type TaskOutcome uint8; const (OutcomeDone TaskOutcome = iota; OutcomeFailed)`,
			nil,
		},
		"the words before":    {`type WaitReason string; const WaitBackoff WaitReason = "Backoff"`, nil},
		"whole, of two words": {`type WaitReason int; const WaitReasonBackoff WaitReason = 1`, nil},
		"none": {`type Outcome string; const Done Outcome = "Done"`,
			[]string{"a.go:1:42: constant Done of type Outcome begins with none of [\"Outcome\"]"}},
		"none of two words": {`type WaitReason string; const Backoff WaitReason = ""`,
			[]string{`none of ["WaitReason" "Reason" "Wait"]`}},
		"iota": {
			`type Phase int; const (PhaseActive Phase = iota; Suspended; Recovering)`,
			[]string{"Recovering", "Suspended"},
		},
		"a part of a word": {`type Out int; const Outcome Out = 1`,
			[]string{"constant Outcome of type Out"}},
		"only the type": {`type Phase int; type Kind int; const KindPhase Phase = 1`,
			[]string{"constant KindPhase of type Phase"}},
		"at the end": {`type Phase int; const ActivePhase Phase = 1`,
			[]string{"constant ActivePhase"}},
		"inferred": {`type Phase string; const Active = Phase("Active")`,
			[]string{"constant Active"}},
		"constant not seen": {`type Phase int; const active Phase = 1`, nil},
		"type not seen":     {`type phase int; const Active phase = 1`, nil},
		"no enum":           {`type Share float64; const Half Share = 0.5`, nil},
		"type of another":   {`import "time"; const Grace = 3 * time.Second`, nil},
		"no type":           {`const Limit = 3; const Key = "a"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := checkEnums(mustType(t, "zone", "a.go:package zone; "+test.text))
			expect(t, checkExceptions("exceptions", nil, found), test.want...)
		})
	}
	found := checkEnums(mustType(t, "zone",
		"a.go:package zone; type Phase int; const Active Phase = 1"))
	expect(t, checkExceptions("enums", map[string]string{"zone Phase": "later", "zone State": "later"},
		found),
		`stale entry: enums lists "zone State"`)
}

func TestCheckConstructorsReports(t *testing.T) {
	const (
		types = "type Queue struct{}; type Limits []int; " +
			"type Config struct{}; type QueueConfig struct{}; "
		result = "does not return (T, error)"
		first  = "does not take a struct Config or QueueConfig first"
		second = "takes a time that is not its second parameter, now"
	)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"without time": {`func NewQueue(config QueueConfig) (*Queue, error) { return nil, nil }`,
			nil},
		"with time": {
			`func NewQueue(config Config, now time.Time) (*Queue, error) { return nil, nil }`,
			nil,
		},
		"a value": {`func NewQueue(config Config) (Queue, error) { return Queue{}, nil }`,
			nil},
		"generic": {
			`type Map[K comparable] struct{}
func NewMap[K comparable](config Config) (*Map[K], error) { return nil, nil }`,
			nil,
		},
		"generic config": {
			`type MapConfig[K comparable] struct{}; type Map int
func NewMap[K comparable](config MapConfig[K]) (*Map, error) { return nil, nil }`,
			nil,
		},
		"and more": {
			`func NewQueue(config Config, now time.Time, random func() float64) (*Queue, error) {
return nil, nil }`,
			nil,
		},
		"no name": {`func New(config Config) (*Queue, error) { return nil, nil }`,
			[]string{"New does not say what it makes"}},
		"no error": {`func NewQueue(config Config) *Queue { return nil }`, []string{result}},
		"a bool": {`func NewQueue(config Config) (*Queue, bool) { return nil, true }`,
			[]string{result}},
		"of another package": {`func NewQueue(config Config) (time.Duration, error) { return 0, nil }`,
			[]string{result}},
		"no config": {`func NewQueue() (*Queue, error) { return nil, nil }`, []string{first}},
		"no struct": {`func NewQueue(limits Limits) (*Queue, error) { return nil, nil }`,
			[]string{first}},
		"a list of config": {
			`type HeapConfig []int
type Heap int
func NewHeap(config HeapConfig) (*Heap, error) { return nil, nil }`,
			[]string{"does not take a struct Config or HeapConfig first"},
		},
		"another's config": {
			`type HeapConfig struct{}
func NewQueue(config HeapConfig) (*Queue, error) { return nil, nil }`,
			[]string{first},
		},
		"pointer to config": {`func NewQueue(config *Config) (*Queue, error) { return nil, nil }`,
			[]string{first}},
		"time first": {
			`func NewQueue(now time.Time, config Config) (*Queue, error) { return nil, nil }`,
			[]string{first, second},
		},
		"time third": {
			`func NewQueue(config Config, limit int, now time.Time) (*Queue, error) { return nil, nil }`,
			[]string{second},
		},
		"another name": {
			`func NewQueue(config Config, start time.Time) (*Queue, error) { return nil, nil }`,
			[]string{second},
		},
		"all at once":   {`func New() {}`, []string{"what it makes", result, "Config first"}},
		"not seen":      {`func newQueue() *Queue { return nil }`, nil},
		"a longer word": {`func Newest() *Queue { return nil }`, nil},
		"a method":      {`func (q *Queue) NewItem() int { return 0 }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustType(t, "zone", `a.go:package zone; import "time"; var _ time.Time; `+types+test.text)
			expect(t, checkExceptions("exceptions", nil, checkConstructors(p, nil)), test.want...)
		})
	}
	edge := mustType(t, "zone", "edge.go:package zone; func New() {}")
	expect(t, checkExceptions("exceptions", nil,
		checkConstructors(edge, map[string]string{"zone/edge.go": "acts"})))
}
