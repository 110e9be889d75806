package architecture

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The one program that README shows is the one that a test of examples/e2e runs
// on a real API server.
func TestReadmeShowsTheTestedProgram(t *testing.T) {
	const program = "examples/quickstart/main.go"
	samples := goSample.FindAllStringSubmatch(text(t, "README.md"), -1)
	_, code, _ := strings.Cut(text(t, program), "\npackage main\n")
	require.Len(t, samples, 1)
	require.Equal(t, "package main\n"+code, samples[0][1])
}

// What the documents link to exists, and so do the packages that they run.
func TestDocumentsPointToWhatExists(t *testing.T) {
	root := repository()
	found := 0
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		found++
		for _, target := range targets(path.Dir(name), text(t, name)) {
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to or runs %s, which does not exist", name, target)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, found, 5)
}

// Each sentence of SECURITY.md on what an attacker can and cannot do names the
// tests that hold it, and they exist.
func TestSecurityNamesItsTests(t *testing.T) {
	claims := claimsOf(text(t, ".github/SECURITY.md"))
	require.GreaterOrEqual(t, len(claims), 20)
	complaints := checkClaims(claims, func(folder string) (tests string) {
		names, _ := fs.Glob(repository(), folder+"/*_test.go") // the pattern is well formed
		for _, name := range names {
			tests += text(t, name)
		}
		return tests
	})
	require.Empty(t, complaints)
}

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := fs.ReadFile(repository(), name)
	require.NoError(t, err)
	return string(content)
}

var (
	goSample   = regexp.MustCompile("(?s)```go\n(.*?)```")
	link       = regexp.MustCompile(`\]\(([^)#:\s]+)[#)]`)
	ran        = regexp.MustCompile(`go -C (\S+) (?:run|test) (?:-\S+ )*\./([\w/-]+)`)
	claimTitle = regexp.MustCompile(`(?s)^\*\*.*?\*\*`)
	heldBy     = regexp.MustCompile("((?:`(?:Test|Benchmark)\\w+`\\s+)+)\\(([\\w/]+)\\)")
	testName   = regexp.MustCompile(`\w+`)
)

// targets returns what a document in a folder links to in the tree, and the
// folders of the packages that its commands run or test.
func targets(folder, markdown string) (names []string) {
	for _, match := range link.FindAllStringSubmatch(markdown, -1) {
		names = append(names, path.Join(folder, match[1]))
	}
	for _, match := range ran.FindAllStringSubmatch(markdown, -1) {
		names = append(names, path.Join(match[1], match[2]))
	}
	return names
}

// claimsOf returns the items of the lists under "It cannot" and "It can".
func claimsOf(markdown string) (claims []string) {
	for _, section := range strings.Split(markdown, "\n### It can")[1:] {
		claims = append(claims, strings.Split(section, "\n- ")[1:]...)
	}
	return claims
}

// checkClaims reports claims without a test, and tests that a folder does not
// have.
func checkClaims(claims []string, tests func(folder string) string) (complaints []string) {
	for _, claim := range claims {
		title, held := claimTitle.FindString(claim), heldBy.FindAllStringSubmatch(claim, -1)
		if len(held) == 0 {
			complaints = append(complaints, title+" names no test")
		}
		for _, match := range held {
			for _, name := range testName.FindAllString(match[1], -1) {
				if !strings.Contains(tests(match[2]), "func "+name+"(") {
					complaints = append(complaints, title+" names "+name+", which "+match[2]+" does not have")
				}
			}
		}
	}
	return complaints
}

func TestDocumentChecksSeeWhatIsMissing(t *testing.T) {
	const document = "[a](b/c.go#L1) [d](https://example.com)\n```sh\ngo -C examples run ./x --y\n" +
		"go -C examples/e2e test ./bench -run z\n```\n"
	require.Equal(t, []string{"f/b/c.go", "examples/x", "examples/e2e/bench"}, targets("f", document))
	claims := claimsOf("- no list\n\n### It cannot\n\n- **A.** Is held.\n  `TestA` `TestB`\n  (x/y) `TestC` (z)\n" +
		"- **B.** Has none.\n\n### It can\n\n- **C.** Elsewhere. `TestA` (z)\n- **D.** No folder. `TestA`\n")
	tests := map[string]string{"x/y": "func TestA(t\nfunc TestB(t", "z": "func TestC(t\nfunc TestAB("}
	want := []string{"**B.** names no test", "**C.** names TestA, which z does not have", "**D.** names no test"}
	require.Equal(t, want, checkClaims(claims, func(folder string) string { return tests[folder] }))
}
