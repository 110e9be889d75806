package architecture

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestRoomsImportAlongThePicture(t *testing.T) {
	sources, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range sources {
		for _, spec := range src.file.Imports {
			complaint := importComplaint(src.folder(), importPath(spec), src.isTest())
			if complaint != "" && !below(src.path, "examples") {
				t.Errorf("%s: %s", src.path, complaint)
			}
		}
	}
	files(t, append(slices.Collect(maps.Keys(subfolders)), withClientGo...)...) // they exist
}

// A package that needs no client-go when it runs must not link it through
// another module either.
func TestNothingLinksMoreThanItNeeds(t *testing.T) {
	imports := importGraph(t, "", "./...")
	for importPath := range imports {
		folder, ours := strings.CutPrefix(importPath, modulePath+"/")
		unwanted := notInRooms
		if slices.Contains(withClientGo, folder) {
			unwanted = notInRooms[1:]
		}
		if found := linked(imports, importPath, unwanted); ours && len(found) > 0 {
			t.Errorf("%s links %q (see `go mod why -m`)", folder, found)
		}
	}
	programs := []string{}
	for folder := range unlinked {
		programs = append(programs, modulePath+"/"+folder)
	}
	imports = importGraph(t, "/examples", programs...)
	for folder, unwanted := range unlinked {
		if found := linked(imports, modulePath+"/"+folder, unwanted); len(found) > 0 {
			t.Errorf("%s links %q (see `go mod why -m`)", folder, found)
		}
	}
}

// importComplaint says what is wrong with an import, "" when nothing is. A test
// may show how rooms compose, and use client-go's fake.
func importComplaint(from, imported string, test bool) string {
	first, _, _ := strings.Cut(imported, "/")
	inModule := func(module string) bool { return below(imported, module) }
	target, ours := strings.CutPrefix(imported, modulePath+"/")
	switch {
	case !strings.Contains(first, "."): // the standard library
		return ""
	case test && below(imported, "github.com/stretchr/testify"):
		return ""
	case !slices.ContainsFunc(allowedModules, inModule):
		return fmt.Sprintf("import of %s, which is not in a module that the library may require", imported)
	case test:
		return ""
	case below(imported, "k8s.io/client-go") && !slices.Contains(withClientGo, from):
		return fmt.Sprintf("%s imports %s: define an interface that client-go's typed client satisfies", from, imported)
	case ours && !hasArrow(from, target):
		return fmt.Sprintf("design.md has no arrow from %s to %s", from, target)
	}
	return ""
}

// hasArrow reports whether one package of the rooms may import another.
func hasArrow(from, target string) bool {
	if importers, listed := subfolders[target]; listed {
		return slices.ContainsFunc(importers, func(importer string) bool { return below(from, importer) })
	}
	room, _, _ := strings.Cut(from, "/")
	return below(target, room) || slices.Contains(rooms[room], target)
}

// importGraph maps everything that the packages link to its imports. It asks
// the go command, in the module that lies in a folder of the repository,
// because only that resolves versions.
func importGraph(t *testing.T, folder string, packages ...string) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go",
		append([]string{"list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`}, packages...)...)
	list.Dir = repositoryRoot() + folder
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		imports[names[0]] = names[1:]
	}
	return imports
}

// linked returns what a package links of the unwanted paths and below them.
func linked(imports map[string][]string, importPath string, unwanted []string) []string {
	seen := map[string]bool{importPath: true}
	for queue := []string{importPath}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range imports[queue[0]] {
			if !seen[imported] {
				seen[imported] = true
				queue = append(queue, imported)
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(found string) bool {
		return !slices.ContainsFunc(unwanted, func(path string) bool { return below(found, path) })
	})
}

func TestImportsAreRefused(t *testing.T) {
	const ours = modulePath + "/"
	for _, test := range []struct{ from, imported, want string }{
		{"eviction", ours + "taints", ""},
		{"taints", ours + "eviction", "no arrow from taints to eviction"},
		{"taints/x", ours + "eviction", "no arrow from taints/x to eviction"},
		{"zone", ours + "timedqueue", "no arrow"},
		{"eviction", ours + "taintsets", "no arrow"},
		{"eviction", ours + "taints/x", "no arrow"},
		{"eviction", ours + "eviction/x", ""},
		{"eviction/x", ours + "eviction", ""},
		{"eviction", ours + "examples/outage", "no arrow"},
		{"daemon/revision", ours + "daemon/ownership", ""},
		{"timedqueue", ours + "timedqueue/feed", "no arrow"},
		{"eviction", ours + "timedqueue/feed", "no arrow"},
		{"eviction/controller", ours + "timedqueue/feed", ""},
		{"zone", "time", ""},
		{"zone", "k8s.io/api/core/v1", ""},
		{"zone", "k8s.io/apiserver/pkg/server", "may require"},
		{"zone", "github.com/stretchr/testify/require", "may require"},
		{"timedqueue/feed", "k8s.io/client-go/tools/cache", ""},
		{"timedqueue", "k8s.io/client-go/tools/cache", "define an interface"},
		{"eviction", "k8s.io/client-go/kubernetes", "define an interface"},
		{"zone_test", ours + "timedqueue", ""},
		{"zone_test", "k8s.io/client-go/kubernetes/fake", ""},
		{"zone_test", "github.com/stretchr/testify/require", ""},
		{"zone_test", "github.com/prometheus/client_golang/prometheus", "may require"},
	} {
		from, isTest := strings.CutSuffix(test.from, "_test")
		got := importComplaint(from, test.imported, isTest)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s with %s: %q, want %q", test.from, test.imported, got, test.want)
		}
	}
}

func TestLinkedFollowsImports(t *testing.T) {
	imports := map[string][]string{"a": {"b"}, "b": {"c/d", "a"}, "x": {"c"}}
	if found := linked(imports, "a", []string{"c", "x"}); !slices.Equal(found, []string{"c/d"}) {
		t.Errorf("found %q, want c/d", found)
	}
}
