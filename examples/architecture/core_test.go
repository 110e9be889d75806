package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCoreFilesOnlyDecide(t *testing.T) {
	for _, src := range readRooms(t, repository(t)) {
		if _, edge := edgeFiles[src.path]; !edge && !src.isTest() {
			report(t, checkCore(src))
		}
	}
}

// The reducer that composes the rooms, and what its settings mean, are cores
// too: a simulator drives and reads them.
func TestProgramCoresOnlyDecide(t *testing.T) {
	root := repository(t)
	for _, folder := range programCores {
		for _, src := range readPath(t, root, folder) {
			report(t, checkCore(src))
		}
	}
}

// A simulator drives these as well.
func TestTimelessEdgesNeitherWaitNorReadAClock(t *testing.T) {
	root := repository(t)
	for _, name := range timelessEdges {
		for _, src := range readPath(t, root, name) {
			report(t, checkTimeless(src))
		}
	}
}

// readPath parses a file, or those of a folder that are not tests.
func readPath(t *testing.T, root fs.FS, name string) []source {
	t.Helper()
	names := []string{name}
	if !strings.HasSuffix(name, ".go") {
		var err error
		if names, err = fs.Glob(root, name+"/*.go"); err != nil {
			t.Fatal(err)
		}
	}
	fset := token.NewFileSet()
	var sources []source
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := parseInto(fset, name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if !src.isTest() {
			sources = append(sources, src)
		}
	}
	if len(sources) == 0 {
		t.Fatalf("no Go files in %s", name)
	}
	return sources
}

func TestEdgeTableHoldsNothingStale(t *testing.T) {
	report(t, checkEdges(edgeFiles, readRooms(t, repository(t))))
}

// The linter shows a clock read while the file is being written; that is worth
// one repeated list as long as the two cannot differ.
func TestLinterKnowsTheSameEdgeFiles(t *testing.T) {
	text, err := fs.ReadFile(repository(t), ".golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	linted, err := lintedEdges(string(text))
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.DeleteFunc(slices.Sorted(maps.Keys(edgeFiles)), func(name string) bool {
		return slices.Contains(timelessEdges, name)
	})
	if !slices.Equal(linted, listed) {
		t.Errorf(".golangci.yml excludes %q from forbidigo's clock rule, edgeFiles without timelessEdges lists %q", linted,
			listed)
	}
}

// checkCore reports what a file that only decides may not do.
func checkCore(src source) []string {
	return check(src, coreImports, func(node ast.Node, names map[string]string) string {
		if complaint := contextComplaint(node, names); complaint != "" {
			return complaint
		}
		return coreComplaint(node, names)
	})
}

// checkTimeless reports what an edge that a simulator drives may not do. It may
// pass a context on and name what client-go has; all else is as for a core.
func checkTimeless(src source) []string {
	imports := slices.DeleteFunc(slices.Clone(coreImports), func(banned bannedImport) bool {
		return banned.path == "k8s.io/client-go"
	})
	return check(src, imports, coreComplaint)
}

func check(src source, imports []bannedImport, complain func(ast.Node, map[string]string) string) []string {
	findings := checkCoreImports(src, imports)
	names := importNames(src.file)
	ast.Inspect(src.file, func(node ast.Node) bool {
		if isSilentLogger(node, names) {
			return false
		}
		if complaint := complain(node, names); complaint != "" {
			findings = append(findings, src.at(node.Pos(), complaint))
		}
		return true
	})
	return findings
}

func checkCoreImports(src source, imports []bannedImport) []string {
	var findings []string
	for _, spec := range src.file.Imports {
		imported := importPath(spec)
		for _, banned := range imports {
			if below(imported, banned.path) {
				findings = append(findings, src.at(spec.Pos(),
					fmt.Sprintf("a core file imports %s, which brings in %s", imported, banned.brings)))
			}
		}
		if spec.Name != nil && (spec.Name.Name == "." || spec.Name.Name == "_") {
			findings = append(findings, src.at(spec.Pos(),
				fmt.Sprintf("a core file imports %s as %s, which hides what it uses", imported, spec.Name.Name)))
		}
	}
	return findings
}

// coreComplaint says what is wrong with one node, "" when nothing is.
func coreComplaint(node ast.Node, names map[string]string) string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return "a core file starts a goroutine"
	case *ast.SelectStmt:
		return "a core file selects on channels"
	case *ast.SendStmt:
		return "a core file sends on a channel"
	case *ast.ChanType:
		return "a core file has a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a core file receives from a channel"
		}
	case *ast.SelectorExpr:
		return selectorComplaint(n, names)
	case *ast.CallExpr:
		return callComplaint(n, names)
	}
	return ""
}

// contextComplaint is about functions with a body. An interface or a callback
// type that an edge will call may name a context in a core file.
func contextComplaint(node ast.Node, names map[string]string) string {
	var fn *ast.FuncType
	switch n := node.(type) {
	case *ast.FuncDecl:
		fn = n.Type
	case *ast.FuncLit:
		fn = n.Type
	default:
		return ""
	}
	for _, param := range fn.Params.List {
		selector, ok := param.Type.(*ast.SelectorExpr)
		if ok && packageOf(selector, names) == "context" {
			return "a core function takes a context, as one that waits or calls out would"
		}
	}
	return ""
}

func selectorComplaint(selector *ast.SelectorExpr, names map[string]string) string {
	imported := packageOf(selector, names)
	rule, ok := coreNames[imported]
	if !ok {
		return ""
	}
	name := selector.Sel.Name
	denied := slices.Contains(rule.deny, name)
	if len(rule.deny) == 0 {
		denied = !slices.Contains(rule.allow, name)
	}
	if denied {
		return fmt.Sprintf("a core file uses %s of %s: %s", name, imported, rule.why)
	}
	return ""
}

// isSilentLogger recognizes klog.Logger{}. It never has elements: the fields
// are not exported.
func isSilentLogger(node ast.Node, names map[string]string) bool {
	literal, ok := node.(*ast.CompositeLit)
	if !ok {
		return false
	}
	selector, ok := literal.Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Logger" && packageOf(selector, names) == "k8s.io/klog/v2"
}

func callComplaint(call *ast.CallExpr, names map[string]string) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		if fn.Name == "print" || fn.Name == "println" {
			return "a core file prints"
		}
	case *ast.SelectorExpr:
		if !slices.Contains(slices.Collect(maps.Values(names)), "golang.org/x/time/rate") {
			return ""
		}
		arguments, ok := limiterMethods[fn.Sel.Name]
		if ok && arguments == len(call.Args) && packageOf(fn, names) == "" {
			return fmt.Sprintf("a core file calls %s with %d arguments: of a rate.Limiter it reads the clock", fn.Sel.Name,
				arguments)
		}
	}
	return ""
}

// checkEdges reports entries whose file is gone, and those whose file would
// pass as core, so that the table does not outlive its reasons.
func checkEdges(edges map[string]string, sources []source) []string {
	var findings []string
	for _, edge := range slices.Sorted(maps.Keys(edges)) {
		i := slices.IndexFunc(sources, func(src source) bool { return src.path == edge })
		switch {
		case i < 0:
			findings = append(findings, fmt.Sprintf("stale entry: edgeFiles lists %s, which does not exist", edge))
		case len(checkCore(sources[i])) == 0:
			findings = append(findings,
				fmt.Sprintf("stale entry: edgeFiles lists %s, which does nothing that a core file may not", edge))
		}
		if edges[edge] == "" {
			findings = append(findings, fmt.Sprintf("edgeFiles gives no reason for %s", edge))
		}
	}
	return findings
}

var edgeExclusion = regexp.MustCompile(`path: '\^\(([^()']+)\)\\\.go\$'`)

// lintedEdges reads the edge files out of the linter's settings.
func lintedEdges(settings string) ([]string, error) {
	matches := edgeExclusion.FindAllStringSubmatch(settings, -1)
	if len(matches) != 1 {
		return nil, fmt.Errorf(".golangci.yml has %d exclusions of the form path: '^(a|b)\\.go$', want 1", len(matches))
	}
	var files []string
	for name := range strings.SplitSeq(matches[0][1], "|") {
		files = append(files, name+".go")
	}
	slices.Sort(files)
	return files, nil
}

func importPath(spec *ast.ImportSpec) string {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has accepted it, so this is not reached
	}
	return imported
}

// majorVersion is the last element of a module's path from its second version
// on. A package v1, as of the Kubernetes API, is really called so.
var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// importNames maps the names under which a file uses packages to their import
// paths. Without a name in the import, the package's own name is taken to be
// the path's last element that is not a major version. That holds for every
// package that a rule is about.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		imported := importPath(spec)
		name := path.Base(imported)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(imported))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// packageOf is the import path that the selector's left side stands for, ""
// when it is not a package.
func packageOf(selector *ast.SelectorExpr, names map[string]string) string {
	if left, ok := selector.X.(*ast.Ident); ok {
		return names[left.Name]
	}
	return ""
}

// below reports whether an import path is the given one or lies under it.
func below(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}
