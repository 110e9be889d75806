package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is one parsed file of a room.
type source struct {
	path string // relative to the repository's root, with slashes
	text string
	fset *token.FileSet
	file *ast.File
}

// room is the top-level folder that the file is in.
func (s source) room() string {
	room, _, _ := strings.Cut(s.path, "/")
	return room
}

func (s source) folder() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) lines() int { return s.fset.File(s.file.Pos()).LineCount() }

// at is a finding about the given place in the file.
func (s source) at(pos token.Pos, complaint string) string {
	return s.fset.Position(pos).String() + ": " + complaint
}

// parse gives errors for what is not Go; they carry the path and the line.
func parse(path, text string) (source, error) {
	return parseInto(token.NewFileSet(), path, text)
}

// parseInto parses a file into a set that the files of one package share, which
// the type checker wants.
func parseInto(fset *token.FileSet, path, text string) (source, error) {
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: path, text: text, fset: fset, file: file}, err
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?\s*$`)

// repositoryRoot walks up from this package's folder to the module that is
// checked, past the examples' own go.mod.
//
// The result is this folder with "/.." appended, not the clean path, and so are
// the names of all files that are read through it. The go command keeps the
// result of a test until a file changes that the test has read. But it watches
// only names that begin with the folder of the test's own module. The root's
// files, under their clean names, would not count. Then `go test` would go on
// showing the result of an older tree.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(folder + "/go.mod")
		if err == nil {
			if m := moduleLine.FindSubmatch(text); m != nil && string(m[1]) == modulePath {
				return folder
			}
		}
		parent := folder + "/.."
		if filepath.Clean(parent) == filepath.Clean(folder) {
			t.Fatalf("no go.mod of module %s above this package", modulePath)
		}
		folder = parent
	}
}

func repository(t *testing.T) fs.FS {
	t.Helper()
	return os.DirFS(repositoryRoot(t))
}

// skipped says which folders the go command, and so the checks, leave out.
func skipped(name string) bool {
	return name == "testdata" || name != "." && strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// readRooms parses every Go file of every room, also those that build
// constraints would leave out here.
func readRooms(t *testing.T, repo fs.FS) []source {
	t.Helper()
	var sources []source
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		if _, err := fs.Stat(repo, room); err != nil {
			continue // not written yet
		}
		sources = append(sources, readTree(t, repo, room)...)
	}
	if len(sources) == 0 {
		t.Fatal("no Go file found in any room: nothing was checked")
	}
	return sources
}

// readTree parses every Go file of a folder and of those below it, also those
// of another module.
func readTree(t *testing.T, repo fs.FS, top string) []source {
	t.Helper()
	var sources []source
	err := fs.WalkDir(repo, top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skipped(entry.Name()) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return err
		}
		src, err := parse(name, string(text))
		sources = append(sources, src)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// report fails the test with each finding on a line of its own.
func report(t *testing.T, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}
