package judge_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign returns the imports of a Go file that a judge must not have: it
// shares no code with what it judges. The root of the module path has a dot,
// the standard library's packages have none.
func foreign(t *testing.T, path string, source any) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
	require.NoError(t, err)
	var found []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		root, _, _ := strings.Cut(name, "/")
		allowed := !strings.Contains(root, ".") || name == "github.com/kubelife/lifecycle/examples/outage/model" ||
			name == "github.com/kubelife/lifecycle/examples/simulation/network" ||
			strings.HasPrefix(name, "k8s.io/api/") || strings.HasPrefix(name, "k8s.io/apimachinery/")
		if !allowed {
			found = append(found, name)
		}
	}
	return found
}

func TestTheJudgeSharesNoCodeWithTheLibrary(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	require.Greater(t, len(files), 5, "a search that finds nothing finds no fault")
	for _, path := range files {
		require.Empty(t, foreign(t, path, nil), path)
	}
	require.Equal(t, []string{"github.com/kubelife/lifecycle/zone", "k8s.io/client-go/rest"}, foreign(t, "bad.go",
		`package judge; import ("time"; "github.com/kubelife/lifecycle/zone"; "k8s.io/client-go/rest"; `+
			`"k8s.io/api/core/v1")`))
}

// So the model that it trusts must not either, nor the API server that the
// model stands on.
func TestTheModelSharesNoCodeWithTheLibrary(t *testing.T) {
	const examples = "github.com/kubelife/lifecycle/examples/"
	for _, folder := range []string{
		"../../outage/model", "../../simulation/network", "../../simulation/virtualtime", "../../simulation/apiserver",
		"../../process/apipatch",
	} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, path := range files {
			for _, name := range foreign(t, path, nil) {
				ours := strings.HasPrefix(name, "github.com/kubelife/")
				allowed := strings.HasPrefix(name, examples+"simulation/") || name == examples+"process/apipatch"
				require.True(t, allowed || !ours, "%s imports %s", path, name)
			}
		}
	}
}
