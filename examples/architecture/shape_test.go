package architecture

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestNothingGlobal(t *testing.T) {
	for _, src := range readRooms(t, repository(t)) {
		if !src.isTest() {
			report(t, checkGlobals(src))
		}
	}
}

func TestPackagesAreIntroducedAndShown(t *testing.T) {
	sources := readRooms(t, repository(t))
	for _, folder := range packageFolders(sources) {
		var own []source
		for _, src := range sources {
			if src.folder() == folder {
				own = append(own, src)
			}
		}
		report(t, checkPackageDoc(folder, own))
		report(t, checkExamples(folder, own))
	}
}

func TestFilesAreShortEnoughToRead(t *testing.T) {
	for _, src := range readRooms(t, repository(t)) {
		report(t, checkLength(src))
	}
}

func TestTopLevelHoldsOnlyTheDesign(t *testing.T) {
	report(t, checkTopLevel(t, repository(t)))
}

func TestNoFolderThatCollectsThings(t *testing.T) {
	report(t, checkFolders(t, repository(t)))
}

// checkGlobals reports init functions, which run whether wanted or not, and
// variables that every importer could change for all others.
func checkGlobals(src source) []string {
	var findings []string
	for _, decl := range src.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				findings = append(findings, src.at(d.Pos(), "an init function"))
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				findings = append(findings, checkVariables(src, d)...)
			}
		}
	}
	return findings
}

func checkVariables(src source, decl *ast.GenDecl) []string {
	var findings []string
	for _, spec := range decl.Specs {
		variables := spec.(*ast.ValueSpec) // a var declaration holds nothing else
		for i, name := range variables.Names {
			if !name.IsExported() || len(variables.Values) == len(variables.Names) && isSentinel(variables.Values[i]) {
				continue
			}
			findings = append(findings, src.at(name.Pos(),
				fmt.Sprintf("exported variable %s: only errors made by errors.New may be exported variables", name.Name)))
		}
	}
	return findings
}

func isSentinel(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	left, ok := fn.X.(*ast.Ident)
	return ok && left.Name == "errors" && fn.Sel.Name == "New"
}

// checkPackageDoc wants one introduction, in one file, that says enough.
func checkPackageDoc(folder string, sources []source) []string {
	lines, documented := 0, 0
	for _, src := range sources {
		if src.isTest() || src.file.Doc == nil {
			continue
		}
		documented++
		for line := range strings.Lines(src.file.Doc.Text()) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
	}
	switch {
	case documented > 1:
		return []string{fmt.Sprintf("%s: %d files have a package comment, want one", folder, documented)}
	case lines < shortestPackageDoc:
		return []string{fmt.Sprintf("%s: the package comment has %d lines with text, want %d", folder, lines,
			shortestPackageDoc)}
	}
	return nil
}

// checkExamples wants an Example that go test runs, which it does only for
// those that say what they print.
func checkExamples(folder string, sources []source) []string {
	var tests []*ast.File
	for _, src := range sources {
		if src.isTest() {
			tests = append(tests, src.file)
		}
	}
	for _, example := range doc.Examples(tests...) {
		if example.Output != "" {
			return nil
		}
	}
	return []string{folder + ": no Example with an Output comment"}
}

func checkLength(src source) []string {
	if lines := src.lines(); lines > longestFile {
		return []string{fmt.Sprintf("%s: %d lines, at most %d", src.path, lines, longestFile)}
	}
	return nil
}

func checkTopLevel(t *testing.T, repo fs.FS) []string {
	t.Helper()
	entries, err := fs.ReadDir(repo, ".")
	if err != nil {
		t.Fatal(err)
	}
	var findings []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			findings = append(findings, fmt.Sprintf("top level: %s is not in design.md's list", name))
		}
	}
	return findings
}

func checkFolders(t *testing.T, repo fs.FS) []string {
	t.Helper()
	var findings []string
	err := fs.WalkDir(repo, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if skipped(entry.Name()) {
			return fs.SkipDir
		}
		if slices.Contains(vagueFolders, path.Base(name)) {
			findings = append(findings, fmt.Sprintf("folder %s: its name does not say what is in it", name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return findings
}
