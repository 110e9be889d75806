package apiserver

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is judged in this server must not decide what the server does.
func TestTheServerSharesNoCodeWithTheLibrary(t *testing.T) {
	for _, folder := range []string{".", "../../process/apipatch"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, path := range files {
			require.Empty(t, ours(t, path, nil), path)
		}
	}
	require.Equal(t, []string{"github.com/kubelife/lifecycle/zone"}, ours(t, "bad.go",
		`package p; import ("github.com/kubelife/lifecycle/zone"; "k8s.io/api/core/v1")`))
}

// ours returns the imports of a Go file from this repository, except for the
// server and what it applies patches with.
func ours(t *testing.T, path string, source any) []string {
	t.Helper()
	const root = "github.com/kubelife/lifecycle/"
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
	require.NoError(t, err)
	var found []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if !strings.HasPrefix(name, root) ||
			name == root+"examples/process/apipatch" || name == root+"examples/simulation/apiserver" {
			continue
		}
		found = append(found, name)
	}
	return found
}
