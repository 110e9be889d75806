package architecture

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomsImportAlongThePicture(t *testing.T) {
	sources, err := parsed()
	require.NoError(t, err)
	for _, src := range sources {
		for _, spec := range src.file.Imports {
			complaint := importComplaint(src.folder(), importPath(spec), src.isTest())
			if complaint != "" && !below(src.path, "examples") {
				t.Errorf("%s: %s", src.path, complaint)
			}
		}
	}
	exist := append(slices.Collect(maps.Keys(subfolders)), slices.Collect(maps.Keys(subfolderRooms))...)
	files(t, append(exist, withClientGo...)...)
}

// A package that needs no client-go when it runs must not link it through
// another module either. The go command is asked, because only that resolves
// versions.
func TestRoomsLinkNoMoreThanTheyNeed(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	list.Dir = repositoryRoot()
	out, err := list.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		importPath, dependencies, _ := strings.Cut(strings.TrimSpace(line), " ")
		unwanted := notInRooms
		if slices.Contains(withClientGo, strings.TrimPrefix(importPath, modulePath+"/")) {
			unwanted = notInRooms[1:]
		}
		require.Empty(t, within(unwanted, strings.Fields(dependencies)), "%s links these (see `go mod why`)", importPath)
	}
}

// within returns which import paths are one of the others or below it.
func within(others, importPaths []string) []string {
	return slices.DeleteFunc(slices.Clone(importPaths), func(importPath string) bool {
		return !slices.ContainsFunc(others, func(other string) bool { return below(importPath, other) })
	})
}

// importComplaint says what is wrong with an import, "" when nothing is. A test
// may show how rooms compose, and use client-go's fake.
func importComplaint(from, imported string, test bool) string {
	first, _, _ := strings.Cut(imported, "/")
	target, ours := strings.CutPrefix(imported, modulePath+"/")
	switch {
	case !strings.Contains(first, "."): // the standard library
		return ""
	case test && below(imported, "github.com/stretchr/testify"):
		return ""
	case len(within(allowedModules, []string{imported})) == 0:
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
	return below(target, room) || slices.Contains(rooms[room], target) ||
		slices.Contains(subfolderRooms[from], target)
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
		{"eviction", ours + "examples/outage", "no arrow"},
		{"daemon/revision", ours + "daemon/ownership", ""},
		{"daemon/rollout", ours + "daemon", ""},
		{"daemon/rollout", ours + "timedqueue", ""},
		{"daemon", ours + "timedqueue", "no arrow"},
		{"daemon", ours + "daemon/rollout", "no arrow"},
		{"daemon", ours + "daemon/ownership", "no arrow"},
		{"timedqueue", ours + "timedqueue/feed", "no arrow"},
		{"eviction", ours + "timedqueue/feed", "no arrow"},
		{"eviction/controller", ours + "timedqueue/feed", ""},
		{"nodehealth/observer", ours + "zone", ""},
		{"nodehealth", ours + "zone", "no arrow"},
		{"nodehealth/observer", ours + "timedqueue/feed", ""},
		{"nodehealth", ours + "nodehealth/observer", "no arrow"},
		{"zone", "time", ""},
		{"zone", "k8s.io/apiserver/pkg/server", "may require"},
		{"zone", "github.com/stretchr/testify/require", "may require"},
		{"timedqueue/feed", "k8s.io/client-go/tools/cache", ""},
		{"eviction", "k8s.io/client-go/kubernetes", "define an interface"},
		{"zone_test", ours + "timedqueue", ""},
		{"zone_test", "k8s.io/client-go/kubernetes/fake", ""},
		{"zone_test", "github.com/stretchr/testify/require", ""},
		{"zone_test", "github.com/prometheus/client_golang/prometheus", "may require"},
	} {
		from, isTest := strings.CutSuffix(test.from, "_test")
		got := importComplaint(from, test.imported, isTest)
		require.Contains(t, got, test.want, test)
		require.Equal(t, test.want == "", got == "", test)
	}
}

func TestUnwantedLinksAreSeen(t *testing.T) {
	require.Equal(t, []string{"c", "c/d"}, within([]string{"c", "x"}, []string{"a", "c", "c/d", "cc"}))
}
