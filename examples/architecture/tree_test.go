package architecture

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFoldersHoldWhatTheyAreFor(t *testing.T) {
	complaints, err := checkTree(repository(), crowded)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range complaints {
		t.Error(complaint)
	}
}

// checkTree reports what stands where design.md has no place for it, folders
// whose names say nothing, and folders with too many files. Names with a
// leading dot are free.
func checkTree(repo fs.FS, crowded []string) ([]string, error) {
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
		case entry.IsDir() && slices.Contains(vagueFolders, base):
			complaints = append(complaints, fmt.Sprintf("the name of folder %s does not say what is in it", name))
		case !entry.IsDir() && !strings.HasSuffix(name, "_test.go"):
			files[folder]++
		}
		return nil
	})
	for folder, count := range files {
		if count > mostFiles && !slices.Contains(crowded, folder) {
			complaints = append(complaints, fmt.Sprintf("%s has %d files besides tests, want at most %d", folder, count, mostFiles))
		}
	}
	for _, folder := range crowded {
		if files[folder] <= mostFiles {
			complaints = append(complaints, fmt.Sprintf("crowded has %s, which is not", folder))
		}
	}
	slices.Sort(complaints)
	return complaints, err
}

func TestTreeCheckSeesWhatHasNoPlace(t *testing.T) {
	repo := fstest.MapFS{
		".ci/pkg/run": {}, "go.mod": {}, "zone/policy/a.go": {}, "zone/testdata/util/a": {},
		"examples/README.md": {}, "examples/scheduler/main.go": {},
		"Makefile": {}, "cmd/main.go": {}, "pkg/a.go": {}, "zone/internal/a.go": {}, "zone/common.go": {},
		"examples/helpers/a.go": {}, "examples/e2e/util/a.go": {},
	}
	for i := range mostFiles {
		for _, folder := range []string{"taints", "daemon", "eviction"} {
			repo[fmt.Sprintf("%s/%c.go", folder, 'a'+i)] = &fstest.MapFile{}
			repo[fmt.Sprintf("%s/%c_test.go", folder, 'a'+i)] = &fstest.MapFile{}
		}
	}
	repo["daemon/manifest.yaml"], repo["eviction/zz.go"] = &fstest.MapFile{}, &fstest.MapFile{}
	complaints, err := checkTree(repo, []string{"daemon", "taints"})
	want := []string{
		"Makefile is not", "cmd is not", "crowded has taints,", "eviction has 26 files", "examples/helpers is not",
		"pkg is not", "the name of folder examples/e2e/util", "the name of folder zone/internal",
	}
	if err != nil || !slices.EqualFunc(complaints, want, strings.HasPrefix) {
		t.Errorf("found %q, want %q; %v", complaints, want, err)
	}
}
