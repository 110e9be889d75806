package architecture

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestFoldersHoldWhatTheyAreFor(t *testing.T) {
	complaints, err := checkTree(repository())
	require.NoError(t, err)
	require.Empty(t, complaints)
}

// checkTree reports what stands where design.md has no place for it, and
// folders with too many files. Names with a leading dot are free.
func checkTree(repo fs.FS) ([]string, error) {
	var complaints []string
	files := map[string]int{} // besides tests, by folder
	err := fs.WalkDir(repo, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && ignored(name) {
			return fs.SkipDir
		}
		folder, base := path.Dir(name), path.Base(name)
		held, listed := holds[folder]
		switch {
		case name == "." || strings.HasPrefix(base, "."):
		case listed && !slices.Contains(held, base):
			complaints = append(complaints, fmt.Sprintf("%s is not among what design.md has in %s", name, folder))
		case !entry.IsDir() && !strings.HasSuffix(name, "_test.go"):
			files[folder]++
		}
		return nil
	})
	for folder, count := range files {
		if count > mostFiles {
			complaints = append(complaints,
				fmt.Sprintf("%s has %d files besides tests, want at most %d", folder, count, mostFiles))
		}
	}
	slices.Sort(complaints)
	return complaints, err
}

func TestTreeCheckSeesWhatHasNoPlace(t *testing.T) {
	repo := fstest.MapFS{
		".ci/pkg/run": {}, "go.mod": {}, "zone/policy/a.go": {}, "zone/testdata/util/a": {},
		"examples/scheduler/main.go": {}, "Makefile": {}, "cmd/main.go": {}, "pkg/a.go": {}, "examples/foo/a.go": {},
	}
	for i := range mostFiles {
		for _, folder := range []string{"taints", "eviction"} {
			repo[fmt.Sprintf("%s/%c.go", folder, 'a'+i)] = &fstest.MapFile{}
			repo[fmt.Sprintf("%s/%c_test.go", folder, 'a'+i)] = &fstest.MapFile{}
		}
	}
	repo["eviction/zz.go"] = &fstest.MapFile{}
	complaints, err := checkTree(repo)
	want := []string{
		"Makefile is", "cmd is", "eviction has 26 files", "examples/foo is", "pkg is",
	}
	require.NoError(t, err)
	require.Len(t, complaints, len(want))
	for i := range want {
		require.Contains(t, complaints[i], want[i])
	}
}
