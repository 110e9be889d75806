package architecture

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

const (
	// longestReadme is the most lines of README, and longestProgram of the
	// complete program in it.
	longestReadme  = 150
	longestProgram = 30
	// readmeProgram is the file that has the program, which a test of examples/e2e
	// runs on a real API server.
	readmeProgram = "examples/quickstart/main.go"
)

// README is short, and the one program that it shows is the one that is tested.
func TestReadmeShowsTheTestedProgram(t *testing.T) {
	root := repository(t)
	readme, program := text(t, root, "README.md"), text(t, root, readmeProgram)
	if lines := strings.Count(readme, "\n"); lines > longestReadme {
		t.Errorf("README has %d lines, want at most %d", lines, longestReadme)
	}
	samples := goSamples(readme)
	if len(samples) != 1 {
		t.Fatalf("README has %d samples of Go, want the program alone", len(samples))
	}
	if lines := strings.Count(samples[0], "\n"); lines > longestProgram {
		t.Errorf("README's program has %d lines, want at most %d", lines, longestProgram)
	}
	if _, code, _ := strings.Cut(program, "\npackage main\n"); "package main\n"+code != samples[0] {
		t.Errorf("README's program is not that of %s", readmeProgram)
	}
}

// What the documents link to exists, and so do the packages that they run.
func TestDocumentsPointToWhatExists(t *testing.T) {
	root := repository(t)
	for _, name := range documents(t, root) {
		document := text(t, root, name)
		for _, link := range links(document) {
			target := path.Join(path.Dir(name), link)
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, link)
			}
		}
		for _, folder := range runs(document) {
			if _, err := fs.Stat(root, folder); err != nil {
				t.Errorf("%s runs %s, which does not exist", name, folder)
			}
		}
	}
}

func TestDocumentChecksSeeDifferences(t *testing.T) {
	const document = "[a](b/c.go#L1) [d](https://example.com)\n```sh\ngo -C examples run ./x --y\n" +
		"go -C examples/e2e test ./bench -run z\n```\n```go\na()\n```\n"
	if got := links(document); len(got) != 1 || got[0] != "b/c.go" {
		t.Errorf("found links %q", got)
	}
	if got := runs(document); len(got) != 2 || got[0] != "examples/x" || got[1] != "examples/e2e/bench" {
		t.Errorf("found folders %q", got)
	}
	if got := goSamples(document); len(got) != 1 || got[0] != "a()\n" {
		t.Errorf("found samples %q", got)
	}
}

// documents are the Markdown files of the repository.
func documents(t *testing.T, root fs.FS) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 5 {
		t.Fatalf("found %q, which cannot be all", names)
	}
	return names
}

func text(t *testing.T, root fs.FS, name string) string {
	t.Helper()
	content, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var (
	goSample = regexp.MustCompile("(?s)```go\n(.*?)```")
	link     = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	ran      = regexp.MustCompile(`go -C (\S+) (?:run|test) (?:-\S+ )*\./([\w/-]+)`)
)

func goSamples(markdown string) (samples []string) {
	for _, match := range goSample.FindAllStringSubmatch(markdown, -1) {
		samples = append(samples, match[1])
	}
	return samples
}

// links are the relative links of a document.
func links(markdown string) (targets []string) {
	for _, match := range link.FindAllStringSubmatch(markdown, -1) {
		if !strings.Contains(match[1], "://") {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// runs are the folders of the packages that a document's commands run or test.
func runs(markdown string) (folders []string) {
	for _, match := range ran.FindAllStringSubmatch(markdown, -1) {
		folders = append(folders, path.Join(match[1], match[2]))
	}
	return folders
}
