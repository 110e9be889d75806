package mutant

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run has each of the mutations caught, in a parallel subtest that has its
// name, and logs by what. The repository is at root, seen from the folder of
// the test. The tests that have to catch them are built when the first subtest
// needs them.
func Run(t *testing.T, root string, mutations []Mutation) {
	t.Helper()
	require.NoError(t, Fit(root, mutations))
	programs := make(map[string]func() (*program, error))
	for i := range mutations {
		for _, c := range mutations[i].Caught {
			if programs[c.Package] == nil {
				folder := t.TempDir()
				programs[c.Package] = sync.OnceValues(func() (*program, error) {
					return build(t.Context(), root, c.Package, folder, mutations)
				})
			}
		}
	}
	for i := range mutations {
		m := &mutations[i]
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, c := range m.Caught {
				program, err := programs[c.Package]()
				require.NoError(t, err)
				by, err := program.catch(t.Context(), m.Name, c)
				require.NoError(t, err)
				t.Logf("caught in %s by %s", c.Package, by)
			}
		})
	}
}
