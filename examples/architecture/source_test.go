package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one parsed file.
type source struct {
	path    string // relative to the repository's root, with slashes
	text    string
	fset    *token.FileSet
	file    *ast.File
	imports map[string]string // import paths by the name that the file uses
}

func (s source) folder() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// textOf returns a part of the source as it stands there.
func (s source) textOf(node ast.Node) string {
	return s.text[s.fset.Position(node.Pos()).Offset:s.fset.Position(node.End()).Offset]
}

// inspect calls with each node of all sources.
func inspect(sources []source, call func(source, ast.Node)) {
	for _, src := range sources {
		ast.Inspect(src.file, func(node ast.Node) bool {
			call(src, node)
			return true
		})
	}
}

// finding is a place at which a source leaves the design. The table of a rule's
// exceptions names its file and, if it is in one, its function.
type finding struct {
	path  string
	line  int
	place string
	text  string
}

func (s source) at(node ast.Node, format string, args ...any) finding {
	place := s.path
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Pos() <= node.Pos() && node.Pos() < fn.End() {
			place += " " + fn.Name.Name
		}
	}
	return finding{s.path, s.fset.Position(node.Pos()).Line, place, fmt.Sprintf(format, args...)}
}

// report fails the test with each finding that is not excepted, and with each
// exception that is not needed or has no reason.
func report(t *testing.T, findings []finding, exceptions map[string]string) {
	t.Helper()
	needed := map[string]bool{}
	for _, f := range findings {
		needed[f.place] = true
		if _, excepted := exceptions[f.place]; !excepted {
			t.Errorf("%s:%d: %s", f.path, f.line, f.text)
		}
	}
	for place, reason := range exceptions {
		if !needed[place] || reason == "" {
			t.Errorf("exception %q: nothing is found there, or its reason is missing", place)
		}
	}
}

// expect compares the findings in a file of testdata with its comments. A line
// with "// want a; b" has two findings, of which the first says a and the other
// b. Any other line has none.
func expect(t *testing.T, name string, check func([]source) []finding) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	src, err := parse("zone/"+name, text)
	require.NoError(t, err)
	found := map[int][]string{}
	for _, f := range check([]source{src}) {
		found[f.line] = append(found[f.line], f.text)
	}
	require.NotEmpty(t, found)
	for i, line := range strings.Split(string(text), "\n") {
		var want []string
		if _, comment, ok := strings.Cut(line, "// want "); ok {
			want = strings.Split(comment, "; ")
		}
		if !slices.EqualFunc(found[i+1], want, strings.Contains) {
			t.Errorf("%s:%d: found %q, want %q", name, i+1, found[i+1], want)
		}
	}
}

// repositoryRoot is two folders above this one.
//
// The result is not the clean path, and so are the names of all files that are
// read through it. The go command keeps the result of a test until a file
// changes that the test has read. But it watches only names that begin with the
// folder of the test's own module. Under their clean names the root's files
// would not count.
func repositoryRoot() string {
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return folder + "/../.."
}

func repository() fs.FS { return os.DirFS(repositoryRoot()) }

// parsed are the files of the library, of the programs and of what they share,
// in the order of their names. Of tests only the imports are parsed. Build
// constraints are ignored.
var parsed = sync.OnceValues(func() (sources []source, err error) {
	return sources, fs.WalkDir(repository(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (ignored(name) || name == "examples/e2e"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(repository(), name)
		if err != nil {
			return err
		}
		src, err := parse(name, text)
		sources = append(sources, src)
		return err
	})
})

// majorVersion ends a module's path from its second version on. Without it, a
// package is called like its path's last element. That holds for every package
// that a rule is about. A package v1, as of the Kubernetes API, is really called
// so.
var majorVersion = regexp.MustCompile(`/v([2-9]|[1-9][0-9]+)$`)

func parse(name string, text []byte) (source, error) {
	mode := parser.SkipObjectResolution
	if strings.HasSuffix(name, "_test.go") {
		mode = parser.ImportsOnly
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, mode)
	if err != nil {
		return source{}, err
	}
	src := source{path: name, text: string(text), fset: fset, file: file, imports: map[string]string{}}
	for _, spec := range file.Imports {
		name := path.Base(majorVersion.ReplaceAllString(importPath(spec), ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		src.imports[name] = importPath(spec)
	}
	return src, nil
}

// ignored reports whether the go command leaves out a folder.
func ignored(name string) bool {
	base := path.Base(name)
	return base == "testdata" || name != "." && strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// files returns the sources that are one of the named files, or lie in a named
// folder or below, without tests. A name without a source is an error.
func files(t *testing.T, names ...string) []source {
	t.Helper()
	sources, err := parsed()
	require.NoError(t, err)
	var found []source
	for _, name := range names {
		before := len(found)
		for _, src := range sources {
			if below(src.path, name) && !src.isTest() {
				found = append(found, src)
			}
		}
		require.Greater(t, len(found), before, "there is no Go file %s, nor one below", name)
	}
	return found
}

func roomFiles(t *testing.T) []source {
	t.Helper()
	return files(t, slices.Sorted(maps.Keys(rooms))...)
}

func importPath(spec *ast.ImportSpec) string {
	imported, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
	return imported
}

// selected returns the import path and the name of what a selector takes from a
// package. Both are empty for a field or a method.
func (s source) selected(expr ast.Expr) (imported, name string) {
	if selector, ok := expr.(*ast.SelectorExpr); ok {
		if left, ok := selector.X.(*ast.Ident); ok && s.imports[left.Name] != "" {
			return s.imports[left.Name], selector.Sel.Name
		}
	}
	return "", ""
}

// below reports whether an import path is the given one or lies under it. The
// same holds for folders.
func below(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}
