//go:build !race

package mutations

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutationsAreCaught puts each of the deliberate faults into the library, one
// at a time, and wants the random worlds to show it, by the invariant that is there
// for it. It says after how many seeds.
//
// The sources stay as they are: the go command is told to read another file in the
// place of the one that has the fault (-overlay).
func TestMutationsAreCaught(t *testing.T) {
	for _, m := range slices.Concat(mutations, ofEvictions, ofMassFailure) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program := buildWith(t, m)
			arguments := append([]string{"-until", string(m.caughtBy)}, m.in.arguments()...)
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

// worlds are the random worlds that show a fault.
type worlds string

const (
	// ordinary worlds are those of explore.Generate.
	ordinary worlds = ""
	// hostile worlds have kubelets and proxies that lie.
	hostile worlds = "hostile"
	// starved worlds have thousands of nodes and few calls.
	starved worlds = "starved"
)

// arguments have package explore run such worlds: of ordinary ones as many as each
// run of the tests has.
func (w worlds) arguments() []string {
	switch w {
	case hostile:
		return []string{"-test.run", "^TestHostileWorlds$", "-hostile", "1000"}
	case starved:
		return []string{"-test.run", "^TestStarvedWorlds$", "-starved", "20"}
	case ordinary:
	}
	return []string{"-test.run", "^TestRandomWorlds$", "-seeds", "2000"}
}

// buildWith builds the tests of package explore with a fault.
func buildWith(t *testing.T, m mutation) string {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	path := filepath.Join(root, m.file)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old), "%s must hold once what the mutation replaces:\n%s", m.file, m.old)

	folder := t.TempDir()
	mutated := filepath.Join(folder, "mutated.go")
	require.NoError(t, os.WriteFile(mutated, []byte(strings.Replace(string(source), m.old, m.with, 1)), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	require.NoError(t, err)
	overlayFile := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	program := filepath.Join(folder, "explore.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlayFile, "-o", program, "../explore")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "build with the fault:\n%s", output)
	return program
}
