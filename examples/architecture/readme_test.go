package architecture

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// What README shows as code is taken from the Examples, which are compiled and
// whose output is checked, so that it cannot go stale.
func TestReadmeShowsExamples(t *testing.T) {
	root := repository(t)
	readme, err := fs.ReadFile(root, "README.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	var names []string
	for _, pattern := range []string{"*/example*_test.go", "*/*/example*_test.go"} {
		matches, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, matches...)
	}
	packages := map[string]bool{}
	for _, name := range names {
		packages[path.Dir(name)] = true
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		examples.Write(text)
	}
	samples := goSamples(string(readme))
	if len(samples) < len(packages) {
		t.Errorf("README has %d samples for %d packages", len(samples), len(packages))
	}
	for _, sample := range samples {
		if !shows(examples.String(), sample) {
			t.Errorf("no Example holds this sample of README:\n%s", sample)
		}
	}
}

func TestReadmeCheckSeesADifference(t *testing.T) {
	samples := goSamples("text\n```go\na()\nb()\n```\n```sh\nls\n```\n")
	if len(samples) != 1 {
		t.Fatalf("found %d samples, want 1", len(samples))
	}
	if !shows("func f() {\n\ta()\n\tb()\n}", samples[0]) {
		t.Error("indentation should not matter")
	}
	if shows("func f() {\n\ta()\n\tc()\n\tb()\n}", samples[0]) {
		t.Error("a line is missing in the sample")
	}
}

var goSample = regexp.MustCompile("(?s)```go\n(.*?)```")

func goSamples(markdown string) []string {
	var samples []string
	for _, match := range goSample.FindAllStringSubmatch(markdown, -1) {
		samples = append(samples, match[1])
	}
	return samples
}

// shows reports whether code holds the lines of the sample one after the other,
// whatever their indentation.
func shows(code, sample string) bool {
	return strings.Contains(unindented(code), unindented(sample))
}

func unindented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
