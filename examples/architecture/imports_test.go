package architecture

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestRoomsImportAlongTheArrows(t *testing.T) {
	sources := readRooms(t, repository(t))
	for _, src := range sources {
		report(t, checkImports(src))
	}
	folders := packageFolders(sources)
	report(t, checkListed("subfolders", slices.Collect(maps.Keys(subfolders)), folders))
	report(t, checkListed("withClientGo", withClientGo, folders))
}

// A package that needs no client-go when it runs must not link it through
// another module either.
func TestRoomsWithoutClientGoDoNotLinkIt(t *testing.T) {
	folders := packageFolders(readRooms(t, repository(t)))
	for _, room := range withoutClientGo {
		for _, folder := range folders {
			if below(folder, room) && !slices.Contains(withClientGo, folder) {
				deps := dependencies(t, modulePath+"/"+folder)
				report(t, checkLinked(folder, deps, []string{"k8s.io/client-go"}))
			}
		}
	}
}

func TestRoomsLinkNothingThatImportersDoNotWant(t *testing.T) {
	for _, folder := range packageFolders(readRooms(t, repository(t))) {
		deps := dependencies(t, modulePath+"/"+folder)
		report(t, checkLinked(folder, deps, []string{
			"github.com/prometheus", "github.com/stretchr", "k8s.io/component-base", "k8s.io/kubernetes", "testing",
		}))
	}
}

// The programs take parts of authentication and authorization from
// k8s.io/apiserver. Its storage, or CEL and gRPC, would more than double their
// size. The simulator, which shares their flags, takes none of it.
func TestProgramsLinkNoMoreThanTheyNeed(t *testing.T) {
	notInPrograms := []string{
		"go.etcd.io", "k8s.io/apiserver/pkg/server/options",
		"github.com/google/cel-go", "google.golang.org/grpc", "go.opentelemetry.io/otel/sdk",
	}
	for folder, unwanted := range map[string][]string{
		"examples/daemonset":           notInPrograms,
		"examples/hollownode":          notInPrograms,
		"examples/nodelifecycle":       notInPrograms,
		"examples/tainteviction":       notInPrograms,
		"examples/scheduler":           notInPrograms,
		"examples/process/commandline": {"go.etcd.io", "k8s.io/apiserver", "k8s.io/client-go"},
		"examples/outage":              {"go.etcd.io", "k8s.io/apiserver"},
		"examples/controllerruntime":   {"go.etcd.io", "k8s.io/apiserver/pkg/server/options"},
		// Clients of the API of that example get no framework with it.
		"examples/controllerruntime/federation": {"k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
	} {
		report(t, checkLinked(folder, dependencies(t, modulePath+"/"+folder), unwanted))
	}
}

// checkImports reports imports against the arrows between rooms, and imports
// from modules that importers of the library shall not get.
func checkImports(src source) []string {
	var findings []string
	for _, spec := range src.file.Imports {
		if complaint := importComplaint(src, importPath(spec)); complaint != "" {
			findings = append(findings, src.at(spec.Pos(), complaint))
		}
	}
	return findings
}

func importComplaint(src source, imported string) string {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	allowed := allowedModules
	if src.isTest() {
		allowed = slices.Concat(allowedModules, allowedInTests)
	}
	if !slices.ContainsFunc(allowed, func(module string) bool { return below(imported, module) }) {
		return fmt.Sprintf("import of %s, which is not in a module that the library may require", imported)
	}
	if src.isTest() {
		return "" // an Example may show how rooms compose, a test may use client-go's fake
	}
	if below(imported, "k8s.io/client-go") && slices.Contains(withoutClientGo, src.room()) &&
		!slices.Contains(withClientGo, src.folder()) {
		return fmt.Sprintf("%s imports %s: define an interface that client-go's typed client satisfies", src.room(), imported)
	}
	return arrowComplaint(src.folder(), src.room(), imported)
}

func arrowComplaint(from, room, imported string) string {
	if !below(imported, modulePath) {
		return ""
	}
	folder := strings.TrimPrefix(strings.TrimPrefix(imported, modulePath), "/")
	target, _, _ := strings.Cut(folder, "/")
	if importers, drawn := subfolders[folder]; drawn {
		if slices.Contains(importers, room) || slices.Contains(importers, from) {
			return ""
		}
		return fmt.Sprintf("%s imports %s: design.md has no arrow from %s to %s", room, imported, room, folder)
	}
	if target == room || slices.Contains(rooms[room], target) {
		return ""
	}
	return fmt.Sprintf("%s imports %s: design.md has no arrow from %s to %s", room, imported, room, target)
}

// packageFolders lists the folders with a package that can be imported, sorted.
func packageFolders(sources []source) []string {
	var folders []string
	for _, src := range sources {
		if !src.isTest() && !slices.Contains(folders, src.folder()) {
			folders = append(folders, src.folder())
		}
	}
	slices.Sort(folders)
	return folders
}

// dependencies lists everything that the package links, itself included. It
// asks the go command, in the root module, because only that resolves versions.
func dependencies(t *testing.T, importPath string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", importPath)
	list.Dir = repositoryRoot(t)
	if below(importPath, modulePath+"/examples") {
		list.Dir += "/examples" // a module of its own
	}
	out, err := list.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %v\n%s", list, err, exit.Stderr)
		}
		t.Fatalf("%v: %v", list, err)
	}
	return strings.Fields(string(out))
}

// checkLinked reports which of the unwanted packages are among the
// dependencies.
func checkLinked(folder string, deps, unwanted []string) []string {
	var findings []string
	for _, dep := range deps {
		for _, path := range unwanted {
			if below(dep, path) {
				findings = append(findings, fmt.Sprintf("%s links %s (see `go mod why -m`)", folder, dep))
			}
		}
	}
	return findings
}
