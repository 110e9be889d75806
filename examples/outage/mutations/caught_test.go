//go:build !race

package mutations

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutationsAreCaught puts each of the deliberate faults into the library,
// one at a time. It wants the random worlds to show it, by the invariant that
// is there for it, and says after how many seeds. By default it puts in one,
// because each is a build, and all if LIFECYCLE_TESTS=all.
//
// The sources stay as they are. The go command is told to read another file in
// the place of the one that has the fault (-overlay).
func TestMutationsAreCaught(t *testing.T) {
	for _, m := range all()[:sized(1, len(all()))] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program := buildWith(t, m)
			first := strconv.FormatUint(max(m.first, 1), 10)
			arguments := append([]string{"-until", string(m.caughtBy), "-first", first}, m.in.arguments()...)
			command := exec.CommandContext(t.Context(), program, arguments...)
			output, err := command.CombinedOutput()
			require.NoError(t, err, "%q did not catch it:\n%s", m.caughtBy, output)
			_, seed, found := strings.Cut(string(output), "FOUND ")
			require.True(t, found, "%s", output)
			seed, _, _ = strings.Cut(seed, "\n")
			t.Logf("caught by %q with seed %s", m.caughtBy, seed)
		})
	}
}

func all() []mutation {
	return slices.Concat(ofHalts, mutations, ofEvictions, ofMassFailure, ofClocks, ofPolicies)
}

// Each of the faults can be put in, also those that are not tried, and the
// README says how many there are.
func TestMutationsFitTheSources(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range all() {
		require.False(t, names[m.name], m.name)
		names[m.name] = true
		_, mutated := m.mutate(t)
		_, err := parser.ParseFile(token.NewFileSet(), m.file, mutated, parser.SkipObjectResolution)
		require.NoError(t, err, m.name)
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	counts := regexp.MustCompile(`all (\d+)\s+injected\s+faults`).FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, counts)
	for _, count := range counts {
		require.Equal(t, strconv.Itoa(len(all())), count[1], "README says %q", count[0])
	}
}

// worlds are the random worlds that show a fault.
type worlds string

const (
	// ordinary worlds are those of explore.Generate.
	ordinary worlds = ""
	// hostile worlds have kubelets and proxies that lie.
	hostile worlds = "hostile"
	// starved worlds have thousands of nodes and few calls.
	starved worlds = "starved"
	// pausing worlds have flags that pause the cluster.
	pausing worlds = "pausing"
)

// arguments have package explore run such worlds: of ordinary ones as many as
// each run of the tests has.
func (w worlds) arguments() []string {
	switch w {
	case hostile:
		return []string{"-test.run", "^TestHostileWorlds$", "-hostile", "1000"}
	case starved:
		return []string{"-test.run", "^TestStarvedWorlds$", "-starved", "20"}
	case pausing:
		return []string{"-test.run", "^TestPausingWorlds$", "-pausing", "1000"}
	case ordinary:
	}
	return []string{"-test.run", "^TestRandomWorlds$", "-seeds", "2000"}
}

// mutate returns the path and the source of the file with the fault.
func (m *mutation) mutate(t *testing.T) (path, mutated string) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	path = filepath.Join(root, m.file)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old), "%s must hold once what %q replaces:\n%s", m.file, m.name,
		m.old)
	return path, strings.Replace(string(source), m.old, m.with, 1)
}

// buildWith builds the tests of package explore with a fault.
func buildWith(t *testing.T, m mutation) string {
	path, source := m.mutate(t)
	folder := t.TempDir()
	mutated := filepath.Join(folder, "mutated.go")
	require.NoError(t, os.WriteFile(mutated, []byte(source), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	require.NoError(t, err)
	overlayFile := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	program := filepath.Join(folder, "explore.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlayFile,
		"-o", program, "../explore")
	throwaway(t, build, t.TempDir())
	output, err := build.CombinedOutput()
	require.NoError(t, err, "build with the fault:\n%s", output)
	return program
}
