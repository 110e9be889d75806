package architecture

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The tests of this file are about the checks themselves. Each is given sources
// that break its rule, and must say so, and sources that keep it, and must be
// silent.

func mustParse(t *testing.T, path, text string) source {
	t.Helper()
	src, err := parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// expect compares findings with what they shall contain, in order; want "" for
// none.
func expect(t *testing.T, findings []string, want ...string) {
	t.Helper()
	if len(findings) != len(want) {
		t.Fatalf("got %d findings %q, want %d like %q", len(findings), findings, len(want), want)
	}
	for i := range want {
		if !strings.Contains(findings[i], want[i]) {
			t.Errorf("finding %d is %q, want it to contain %q", i, findings[i], want[i])
		}
	}
}

func TestCheckCoreReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"clock":            {`import "time"; var x = time.Now()`, []string{"uses Now of time"}},
		"clock as a value": {`import "time"; var clock = time.Now`, []string{"uses Now of time"}},
		"clock, renamed":   {`import clk "time"; var x = clk.Since(y)`, []string{"uses Since of time"}},
		"until":            {`import "time"; var x = time.Until(y)`, []string{"uses Until of time"}},
		"after":            {`import "time"; func f() { g(time.After(1)) }`, []string{"uses After of time"}},
		"sleep":            {`import "time"; func f() { time.Sleep(1) }`, []string{"uses Sleep of time"}},
		"timer": {`import "time"; func f() { t := time.NewTimer(1); t.Stop() }`,
			[]string{"uses NewTimer of time"}},
		"timer held": {`import "time"; type s struct { t *time.Timer }`, []string{"uses Timer of time"}},
		"after func": {`import "time"; func f() { time.AfterFunc(1, f) }`, []string{"uses AfterFunc of time"}},
		"tick":       {`import "time"; func f() { g(time.Tick(1)) }`, []string{"uses Tick of time"}},
		"clock of apimachinery": {`import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var x = metav1.Now()`,
			[]string{"uses Now of k8s.io"}},
		"clock of a limiter": {`import "golang.org/x/time/rate"; func f(l *rate.Limiter) bool { return l.Allow() }`,
			[]string{"calls Allow with 0"}},
		"limiter that waits": {`import "golang.org/x/time/rate"; func f(l *rate.Limiter) { l.Wait(c) }`,
			[]string{"calls Wait with 1"}},
		"limit of a limiter": {`import "golang.org/x/time/rate"; func f(l *rate.Limiter) { l.SetLimit(3) }`,
			[]string{"calls SetLimit with 1"}},
		"goroutine":      {`func f() { go g() }`, []string{"starts a goroutine"}},
		"channel":        {`func f(c chan int) {}`, []string{"has a channel"}},
		"send":           {`func f() { c <- 1 }`, []string{"sends on a channel"}},
		"receive":        {`func f() { <-c }`, []string{"receives from a channel"}},
		"select":         {`func f() { select {} }`, []string{"selects on channels"}},
		"lock":           {`import "sync"; var mu sync.Mutex`, []string{"imports sync,"}},
		"atomics":        {`import "sync/atomic"; var n atomic.Int64`, []string{"imports sync/atomic,"}},
		"files":          {`import "os"; var x = os.Args`, []string{"imports os,"}},
		"processes":      {`import "os/exec"; var x exec.Cmd`, []string{"imports os/exec,"}},
		"network":        {`import "net/http"; var x http.Client`, []string{"imports net/http,"}},
		"log":            {`import "log"; func f() { log.Print() }`, []string{"imports log,"}},
		"structured log": {`import "log/slog"; func f() { slog.Info("") }`, []string{"imports log/slog,"}},
		"klog": {`import "k8s.io/klog/v2"; func f() { klog.Info() }`,
			[]string{"uses Info of k8s.io/klog/v2"}},
		"logger taken": {`import "k8s.io/klog/v2"; func f(l klog.Logger) { l.Info("") }`,
			[]string{"uses Logger of k8s.io/klog/v2"}},
		"clock of meta/v1": {`import "k8s.io/apimachinery/pkg/apis/meta/v1"; var x = v1.Now()`,
			[]string{"uses Now of k8s.io"}},
		"randomness, renamed": {`import dice "math/rand/v2"; var n = dice.N(3)`, []string{"uses N of math/rand/v2"}},
		"client-go": {`import "k8s.io/client-go/kubernetes"; var c kubernetes.Interface`,
			[]string{"imports k8s.io/client-go/kubernetes,"}},
		"clock interface": {`import "k8s.io/utils/clock"; var c clock.Clock`,
			[]string{"imports k8s.io/utils/clock,"}},
		"global randomness":     {`import "math/rand"; var n = rand.Intn(3)`, []string{"uses Intn of math/rand"}},
		"global randomness v2":  {`import "math/rand/v2"; var n = rand.N(3)`, []string{"uses N of math/rand/v2"}},
		"randomness of kernel":  {`import "crypto/rand"; var r = rand.Reader`, []string{"imports crypto/rand,"}},
		"print":                 {`import "fmt"; func f() { fmt.Println() }`, []string{"uses Println of fmt"}},
		"built-in print":        {`func f() { println() }`, []string{"prints"}},
		"function that waits":   {`import "context"; func f(ctx context.Context) {}`, []string{"takes a context"}},
		"literal that waits":    {`import "context"; var f = func(context.Context) {}`, []string{"takes a context"}},
		"context made":          {`import "context"; var c = context.Background()`, []string{"uses Background of context"}},
		"names poured out":      {`import . "strings"; var x = ToUpper("")`, []string{"imports strings as ."}},
		"side effect":           {`import _ "embed"`, []string{"imports embed as _"}},
		"two at once, in order": {`import ("os"; "time"); var x = time.Now()`, []string{"imports os,", "uses Now of time"}},
		"inside a nested closure": {`import "time"; func f() func() any { return func() any { return time.Now() } }`,
			[]string{"uses Now of time"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkCore(mustParse(t, "zone/bad.go", "package zone; "+test.text)), test.want...)
		})
	}
}

func TestCheckCoreAllowsWhatDecides(t *testing.T) {
	expect(t, checkCore(mustParse(t, "zone/good.go", `package zone
import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)
func tolerated(t corev1.Toleration, taint *corev1.Taint) bool { return t.ToleratesTaint(klog.Logger{}, taint, true) }
type Source interface{ Get(ctx context.Context, name string) error }
type state struct { random *rand.Rand; limiter *rate.Limiter; seen metav1.Time }
func newState(seed uint64) *state { return &state{random: rand.New(rand.NewPCG(seed, 0))} }
func (s *state) due(now time.Time, wait time.Duration) (bool, error) {
	if !now.After(s.seen.Time.Add(wait)) { return false, fmt.Errorf("not before %v", s.seen) }
	s.limiter.SetLimitAt(now, rate.Every(time.Second))
	return s.limiter.AllowN(now, 1) && s.random.IntN(2) == 0, nil
}
`)))
}

func TestCheckTimelessReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"calls out": {`import "context"; func f(ctx context.Context) { g(ctx) }`, nil},
		"client-go": {`import "k8s.io/client-go/tools/cache"; var h cache.ResourceEventHandler`, nil},
		"clock":     {`import "time"; var x = time.Now()`, []string{"uses Now of time"}},
		"clock of meta": {`import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var x = metav1.Now()`,
			[]string{"uses Now of k8s.io"}},
		"timeout": {`import "context"; func f(c context.Context) { context.WithTimeout(c, 1) }`,
			[]string{"uses WithTimeout of context"}},
		"goroutine": {`func f() { go g() }`, []string{"starts a goroutine"}},
		"channel":   {`func f(c chan int) {}`, []string{"has a channel"}},
		"lock":      {`import "sync"; var mu sync.Mutex`, []string{"imports sync,"}},
		"log":       {`import "k8s.io/klog/v2"; func f() { klog.Info() }`, []string{"uses Info of k8s.io/klog/v2"}},
		"waiting, twice": {`import "k8s.io/apimachinery/pkg/util/wait"; func f() { select {} }`,
			[]string{"pkg/util/wait", "selects on channels"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkTimeless(mustParse(t, "eviction/bad.go", "package eviction; "+test.text)), test.want...)
		})
	}
}

func TestCheckEdgesReportsStaleEntries(t *testing.T) {
	sources := []source{
		mustParse(t, "zone/acts.go", `package zone; func f() { go g() }`),
		mustParse(t, "zone/decides.go", `package zone; func f() {}`),
	}
	expect(t, checkEdges(map[string]string{"zone/acts.go": "starts g"}, sources))
	expect(t, checkEdges(map[string]string{"zone/acts.go": ""}, sources), "gives no reason for zone/acts.go")
	expect(t, checkEdges(map[string]string{"zone/decides.go": "?", "zone/gone.go": "?"}, sources),
		"zone/decides.go, which does nothing that a core file may not",
		"zone/gone.go, which does not exist")
}

func TestLintedEdgesReadsTheExclusion(t *testing.T) {
	files, err := lintedEdges("- path: _test\\.go$\n- path: '^(b/y|a/x)\\.go$'\n")
	if err != nil || !slices.Equal(files, []string{"a/x.go", "b/y.go"}) {
		t.Errorf("got %q, %v", files, err)
	}
	if _, err := lintedEdges("- path: _test\\.go$\n"); err == nil {
		t.Error("settings without the exclusion are accepted")
	}
}

func TestCheckImportsReports(t *testing.T) {
	ours := func(room string) string { return `"` + modulePath + "/" + room + `"` }
	for name, test := range map[string]struct {
		path, imported string
		want           []string
	}{
		"arrow":             {"eviction/a.go", ours("taints"), nil},
		"second arrow":      {"eviction/a.go", ours("timedqueue"), nil},
		"own folder":        {"eviction/x/a.go", ours("eviction/y"), nil},
		"against the arrow": {"taints/a.go", ours("eviction"), []string{"no arrow from taints to eviction"}},
		"below a room":      {"taints/a.go", ours("eviction/x"), []string{"no arrow from taints to eviction"}},
		"from below a room": {"taints/x/a.go", ours("eviction"), []string{"no arrow from taints to eviction"}},
		"no arrow between":  {"zone/a.go", ours("timedqueue"), []string{"no arrow from zone to timedqueue"}},
		"half an arrow":     {"nodehealth/a.go", ours("taints"), []string{"no arrow from nodehealth to taints"}},
		"the examples": {"eviction/a.go", ours("examples/nodelifecycle"),
			[]string{"no arrow from eviction to examples"}},
		"the root":         {"eviction/a.go", `"` + modulePath + `"`, []string{"no arrow from eviction"}},
		"a test composes":  {"zone/a_test.go", ours("timedqueue"), nil},
		"standard library": {"zone/a.go", `"time"`, nil},
		"api":              {"zone/a.go", `"k8s.io/api/core/v1"`, nil},
		"client-go":        {"eviction/a.go", `"k8s.io/client-go/kubernetes"`, nil},
		"client-go where not": {"taints/a.go", `"k8s.io/client-go/kubernetes"`,
			[]string{"taints imports k8s.io/client-go/kubernetes"}},
		"client-go where it belongs": {"timedqueue/feed/a.go", `"k8s.io/client-go/tools/cache"`, nil},
		"client-go beside the feed": {"timedqueue/a.go", `"k8s.io/client-go/tools/cache"`,
			[]string{"timedqueue imports k8s.io/client-go"}},
		"the feed from its room": {"timedqueue/a.go", ours("timedqueue/feed"),
			[]string{"no arrow from timedqueue to timedqueue/feed"}},
		"the feed along the arrow": {"eviction/a.go", ours("timedqueue/feed"),
			[]string{"no arrow from eviction to timedqueue/feed"}},
		"the feed in the package for it": {"eviction/controller/a.go", ours("timedqueue/feed"), nil},
		"the feed in a test":             {"eviction/a_test.go", ours("timedqueue/feed"), nil},
		"client-go in a test":            {"taints/a_test.go", `"k8s.io/client-go/kubernetes/fake"`, nil},
		"prometheus": {"zone/a.go", `"github.com/prometheus/client_golang/prometheus"`,
			[]string{"may require"}},
		"prometheus in a test": {"zone/a_test.go", `"github.com/prometheus/client_golang/prometheus"`,
			[]string{"may require"}},
		"kubernetes":                 {"zone/a.go", `"k8s.io/kubernetes/pkg/controller"`, []string{"may require"}},
		"testify in a test":          {"zone/a_test.go", `"github.com/stretchr/testify/require"`, nil},
		"testify outside tests":      {"zone/a.go", `"github.com/stretchr/testify/require"`, []string{"may require"}},
		"a module of a similar name": {"zone/a.go", `"k8s.io/apiserver/pkg/server"`, []string{"may require"}},
		"a room of a similar name": {"eviction/a.go", ours("taintsets"),
			[]string{"no arrow from eviction to taintsets"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkImports(mustParse(t, test.path, "package p; import "+test.imported)), test.want...)
		})
	}
}

// Of what the go command says about a real package, too: net/http links net.
func TestCheckLinkedReports(t *testing.T) {
	deps := dependencies(t, "net/http")
	expect(t, checkLinked("zone", deps, []string{"net/http"})[:1], "zone links net/http")
	expect(t, checkLinked("zone", deps, []string{"k8s.io/client-go"}))
	expect(t, checkLinked("zone", []string{"fmt", "k8s.io/client-go/rest"}, []string{"k8s.io/client-go"}),
		"zone links k8s.io/client-go/rest")
}

func TestCheckGlobalsReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"init":              {`func init() {}`, []string{"an init function"}},
		"method named init": {`func (s *state) init() {}`, nil},
		"exported variable": {`var Default = New()`, []string{"exported variable Default"}},
		"without a value":   {`var Default int`, []string{"exported variable Default"}},
		"error":             {`import "errors"; var ErrGone = errors.New("gone")`, nil},
		"errors": {`import "errors"; var (ErrA = errors.New("a"); ErrB, ErrC = errors.New("b"), errors.New("c"))`,
			nil},
		"among errors":       {`import "errors"; var ErrA, Limit = errors.New("a"), 3`, []string{"exported variable Limit"}},
		"formatted error":    {`import "fmt"; var ErrA = fmt.Errorf("a")`, []string{"exported variable ErrA"}},
		"joined errors":      {`import "errors"; var ErrA = errors.Join(errB, errC)`, []string{"exported variable ErrA"}},
		"another New":        {`import "x.org/status"; var ErrA = status.New("a")`, []string{"exported variable ErrA"}},
		"unexported":         {`var names = []string{"a"}`, nil},
		"constant":           {`const Limit = 3`, nil},
		"proof of interface": {`var _ Source = (*state)(nil)`, nil},
		"local":              {`func f() { var Local int; g(Local) }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkGlobals(mustParse(t, "zone/a.go", "package zone; "+test.text)), test.want...)
		})
	}
}

func TestCheckPackageDocReports(t *testing.T) {
	documented := func(path string, lines int) source {
		return mustParse(t, path, strings.Repeat("// Text.\n", lines)+"package zone\n")
	}
	bare := mustParse(t, "zone/a.go", "package zone")
	expect(t, checkPackageDoc("zone", []source{bare, documented("zone/doc.go", shortestPackageDoc)}))
	expect(t, checkPackageDoc("zone", []source{bare}), "0 lines")
	expect(t, checkPackageDoc("zone", []source{documented("zone/doc.go", shortestPackageDoc-1)}), "9 lines")
	expect(t, checkPackageDoc("zone", []source{bare, documented("zone/doc_test.go", shortestPackageDoc)}), "0 lines")
	expect(t, checkPackageDoc("zone", []source{documented("zone/a.go", 10), documented("zone/b.go", 10)}), "2 files")
	blank := mustParse(t, "zone/doc.go", "// One.\n"+strings.Repeat("//\n", 20)+"// Two.\npackage zone\n")
	expect(t, checkPackageDoc("zone", []source{blank}), "2 lines")
}

func TestCheckExamplesReports(t *testing.T) {
	const with = "package zone_test\nfunc Example() {\n\tf()\n\t// Output: 3\n}\n"
	const without = "package zone_test\nfunc Example() {\n\tf()\n}\n"
	expect(t, checkExamples("zone", []source{mustParse(t, "zone/example_test.go", with)}))
	expect(t, checkExamples("zone", []source{mustParse(t, "zone/example_test.go", without)}), "no Example")
	expect(t, checkExamples("zone", []source{mustParse(t, "zone/example.go", with)}), "no Example")
	expect(t, checkExamples("zone", nil), "no Example")
}

func TestCheckLengthReports(t *testing.T) {
	lines := func(n int) source {
		return mustParse(t, "zone/a.go", "package zone\n"+strings.Repeat("// Text.\n", n-2)+"// Text.")
	}
	expect(t, checkLength(lines(longestFile)))
	expect(t, checkLength(lines(longestFile+1)), "501 lines")
}

func TestCheckTopLevelReports(t *testing.T) {
	repo := fstest.MapFS{}
	for _, name := range append(slices.Clone(topLevel), ".ci", ".golangci.yml") {
		repo[name] = &fstest.MapFile{}
	}
	expect(t, checkTopLevel(t, repo))
	repo["Makefile"] = &fstest.MapFile{}
	repo["cmd/main.go"] = &fstest.MapFile{}
	expect(t, checkTopLevel(t, repo), "Makefile is not", "cmd is not")
}

func TestCheckFoldersReports(t *testing.T) {
	repo := fstest.MapFS{
		"zone/policy/a.go":            {},
		"zone/testdata/util/a":        {},
		".cache/pkg/a.go":             {},
		"zone/internal.go":            {},
		"examples/nodelifecycle/a.go": {},
	}
	expect(t, checkFolders(t, repo))
	repo["zone/internal/a.go"] = &fstest.MapFile{}
	repo["examples/e2e/util/a.go"] = &fstest.MapFile{}
	repo["pkg/a.go"] = &fstest.MapFile{}
	expect(t, checkFolders(t, repo), "folder examples/e2e/util:", "folder pkg:", "folder zone/internal:")
}

// A walk that finds nothing would let every check pass.
func TestReadRoomsFindsEveryRoomFile(t *testing.T) {
	repo := fstest.MapFS{
		"zone/a.go":              {Data: []byte("package zone")},
		"zone/a_test.go":         {Data: []byte("package zone")},
		"zone/policy/b.go":       {Data: []byte("package policy")},
		"eviction/c_windows.go":  {Data: []byte("//go:build windows\n\npackage eviction")},
		"eviction/testdata/d.go": {Data: []byte("not Go")},
		"examples/e.go":          {Data: []byte("package examples")},
	}
	found := map[string]bool{}
	for _, src := range readRooms(t, repo) {
		found[src.path] = true
	}
	want := []string{"eviction/c_windows.go", "zone/a.go", "zone/a_test.go", "zone/policy/b.go"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckWidthReports(t *testing.T) {
	wide := func(begin string, columns int) string {
		return begin + strings.Repeat("é", columns-len(begin))
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"comment":      {wide("// a ", 80), nil},
		"wide comment": {wide("// a ", 81), []string{"zone/a.go:2: 81 columns of comment, at most 80"}},
		"indented":     {"func f() {\n" + wide("\t\t// a ", 80) + "\n}", nil},
		"wide, indented": {"func f() {\n" + wide("\t\t// a ", 81) + "\n}",
			[]string{"zone/a.go:3: 81 columns of comment"}},
		"code":                  {wide(`const x = "`, 99) + `"`, nil},
		"wide code":             {wide(`const x = "`, 100) + `"`, []string{"zone/a.go:2: 101 columns of code, at most 100"}},
		"comment after code":    {wide("const x = 1 // a ", 100), nil},
		"wide after code":       {wide("const x = 1 // a ", 101), []string{"101 columns of code"}},
		"block comment":         {"/* a\n" + wide("b ", 81) + "\n*/", []string{"zone/a.go:3: 81 columns of comment"}},
		"no comment, in string": {"const x = `\n" + wide("// a ", 100) + "\n`", nil},
		"address":               {wide("// https://", 120), nil},
		"address in a sentence": {wide("// See https://", 120), []string{"120 columns of comment"}},
		"directive":             {"//go:generate " + strings.Repeat("a ", 60), nil},
		"directive behind code": {"var x = 1 //nolint:all // " + strings.Repeat("a ", 60), nil},
		"text":                  {"const x = `\n" + strings.Repeat("a ", 60) + "`", nil},
		"text in one line": {"const x = `" + strings.Repeat("a ", 60) + "`",
			[]string{"a.go:2: 132 columns of code, at most 100"}},
		"output": {"func f() {\n// Output:\n// " + strings.Repeat("a ", 60) + "\n}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkWidth(mustParse(t, "zone/a.go", "package zone\n"+test.text+"\n"), widestCode), test.want...)
		})
	}
}

func TestCheckWordsReports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"plain": {"// The caller reads its node. Whose node, the heir's, whole anywhere.", nil},
		"who":   {"// Who reads it.", []string{`zone/a.go:2: the comment says "Who"`}},
		"two": {"// Whoever has it\n// reads it himself.",
			[]string{`a.go:2: the comment says "Whoever"`, `a.go:3: the comment says "himself"`}},
		"with an ending": {"// It is somebody's.", []string{`"somebody"`}},
		"at a line end":  {"const x = 1 // for him", []string{`"him"`}},
		"in a block":     {"/* It\nstarts anew. */", []string{`a.go:3: the comment says "anew"`}},
		"in a function":  {"func f() {\n// as he does\n}", []string{`a.go:3: the comment says "he"`}},
		"in code":        {`const who = "nobody"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkWords(mustParse(t, "zone/a.go", "package zone\n"+test.text+"\n")), test.want...)
		})
	}
}
