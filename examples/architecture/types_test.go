package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"sync"
	"testing"
)

// typedPackage is a package without its tests, and what the type checker knows
// about it.
type typedPackage struct {
	folder  string
	sources []source
	fset    *token.FileSet
	pkg     *types.Package
	info    *types.Info
}

// at is a finding about the given place in the package.
func (p typedPackage) at(pos token.Pos, complaint string) string {
	return p.fset.Position(pos).String() + ": " + complaint
}

// fileOf returns the path of the file that declares or uses something there.
func (p typedPackage) fileOf(pos token.Pos) string {
	return p.fset.Position(pos).Filename
}

// readTyped parses and type-checks the package in a folder of the repository.
func readTyped(t *testing.T, folder string) typedPackage {
	t.Helper()
	return typeCheck(t, folder, readPath(t, repository(t), folder))
}

// typeCheck checks sources that share a file set.
func typeCheck(t *testing.T, folder string, sources []source) typedPackage {
	t.Helper()
	p := typedPackage{folder: folder, sources: sources, fset: sources[0].fset}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	files := make([]*ast.File, len(sources))
	for i, src := range sources {
		files[i] = src.file
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", openExport)}
	var err error
	if p.pkg, err = config.Check(modulePath+"/"+folder, p.fset, files, p.info); err != nil {
		t.Fatalf("type check of %s: %v", folder, err)
	}
	return p
}

// openExport opens what the compiler wrote down about an imported package.
func openExport(imported string) (io.ReadCloser, error) {
	exports, err := compiledExports()
	if err != nil {
		return nil, err
	}
	name := exports[imported]
	if name == "" {
		return nil, fmt.Errorf("the go command lists no compiled %s", imported)
	}
	return os.Open(name)
}

// compiledExports maps import paths to the files of export data that importers
// of those packages read. It compiles what is not in the build cache.
var compiledExports = sync.OnceValues(func() (map[string]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "container/heap")
	for room := range rooms {
		list.Args = append(list.Args, modulePath+"/"+room+"/...")
	}
	for _, program := range typedPrograms {
		list.Args = append(list.Args, modulePath+"/"+program)
	}
	out, err := list.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%v: %w\n%s", list, err, exit.Stderr)
		}
		return nil, fmt.Errorf("%v: %w", list, err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var listed struct{ ImportPath, Export string }
		if err := decoder.Decode(&listed); err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
	}
	return exports, nil
})

// fileName is a file's name in a drawing: its base name without .go.
func fileName(file string) string {
	base := path.Base(file)
	return base[:len(base)-len(".go")]
}

// typedFolders lists the folders of all packages of the rooms and those of
// further ones, sorted.
func typedFolders(t *testing.T, further []string) []string {
	t.Helper()
	folders := slices.Concat(packageFolders(readRooms(t, repository(t))), further)
	slices.Sort(folders)
	return slices.Compact(folders)
}
