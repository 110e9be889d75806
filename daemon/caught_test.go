//go:build !race

package daemon_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutationsAreCaught puts each of the deliberate faults into the library,
// one at a time. The random histories must violate its invariant. The log says
// after how many seeds. It runs if LIFECYCLE_TESTS=all, because each
// is a build.
//
// The sources are not changed: with -overlay the go command reads another file
// in place of the mutated one.
func TestMutationsAreCaught(t *testing.T) {
	if sized(0, 1) == 0 {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program := buildWith(t, m)
			command := exec.CommandContext(
				t.Context(),
				program,
				"-test.run",
				"^TestRandomHistories$",
				"-until",
				string(m.caughtBy),
				"-seeds",
				"2000",
			)
			output, err := command.CombinedOutput()
			require.NoError(t, err, "%s did not catch it:\n%s", m.caughtBy, output)
			_, seed, found := strings.Cut(string(output), "FOUND ")
			require.True(t, found, "%s", output)
			seed, _, _ = strings.Cut(seed, "\n")
			t.Logf("caught by %s with seed %s", m.caughtBy, seed)
		})
	}
}

// sources are the histories without the other tests of the package, which would
// take most of the time to link.
var sources = []string{
	"converged_test.go", "histories_test.go", "invariants_test.go", "occurrences_test.go",
	"plan_test.go", "process_test.go", "random_test.go", "reported_test.go",
	"sized_test.go", "told_test.go", "world_test.go",
}

// buildWith builds the histories with a fault.
func buildWith(t *testing.T, m mutation) string {
	path, err := filepath.Abs(m.file)
	require.NoError(t, err)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(
		t,
		1,
		strings.Count(string(source), m.old),
		"%s must hold once what the mutation replaces:\n%s",
		m.file,
		m.old,
	)

	folder := t.TempDir()
	mutated := filepath.Join(folder, "mutated.go")
	require.NoError(
		t,
		os.WriteFile(mutated, []byte(strings.Replace(string(source), m.old, m.with, 1)), 0o600),
	)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	require.NoError(t, err)
	overlayFile := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	program := filepath.Join(folder, "daemon.test")
	arguments := append(
		[]string{"test", "-c", "-ldflags=-s -w", "-overlay", overlayFile, "-o", program},
		sources...)
	build := exec.CommandContext(t.Context(), "go", arguments...)
	output, err := build.CombinedOutput()
	require.NoError(t, err, "build with the fault:\n%s", output)
	return program
}
