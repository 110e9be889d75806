package mutant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Main(m.Run)) }

// repository makes a module with a function and a test of it that prints what
// the explorers print.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module mutated.example\n\ngo 1.25\n",
		"one/a.go": "package one\n\nfunc Two() int { return 1 + 1 }\n",
		"one/a_test.go": "package one\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\n" +
			"func TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tfmt.Println(\"FOUND 7\")\n\t\treturn\n\t}\n" +
			"\tt.Fatal(\"all is well\")\n}\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestAFaultIsBuiltInAndFound(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	wrong := Mutation{Name: "two is three", File: "one/a.go", Old: "1 + 1", With: "1 + 2"}
	program, err := wrong.Build(t.Context(), root, "./one", t.TempDir())
	require.NoError(t, err)
	seed, err := FindSeed(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, "7", seed)
	source, err := os.ReadFile(filepath.Join(root, "one", "a.go"))
	require.NoError(t, err)
	require.Contains(t, string(source), "1 + 1", "the source stays as it is")

	same := Mutation{Name: "two is two", File: "one/a.go", Old: "1 + 1", With: "2"}
	program, err = same.Build(t.Context(), root, "./one", t.TempDir())
	require.NoError(t, err)
	_, err = FindSeed(t.Context(), program)
	require.ErrorIs(t, err, ErrNotCaught)
	require.ErrorContains(t, err, "all is well")
}

func TestAMutationHasToFit(t *testing.T) {
	root := repository(t)
	t.Chdir(root)
	for _, old := range []string{"", "1", "3 + 3"} {
		m := Mutation{Name: "no fault", File: "one/a.go", Old: old, With: "5"}
		_, _, err := m.Source(root)
		require.ErrorIs(t, err, ErrUnfit, "%q", old)
	}
	missing := Mutation{Name: "no file", File: "one/b.go", Old: "1", With: "2"}
	_, _, err := missing.Source(root)
	require.ErrorIs(t, err, os.ErrNotExist)
	broken := Mutation{Name: "no Go", File: "one/a.go", Old: "1 + 1", With: "1 +"}
	_, err = broken.Build(t.Context(), root, "./one", t.TempDir())
	require.ErrorContains(t, err, `build with "no Go"`)
}
