package architecture

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// Each sentence of SECURITY.md on what an attacker can and cannot do names the
// tests that hold it, and they exist.
func TestSecurityNamesItsTests(t *testing.T) {
	root := repository(t)
	text, err := fs.ReadFile(root, ".github/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	claims := claimsOf(string(text))
	if len(claims) < 20 {
		t.Errorf("found %d claims, want 20 or more", len(claims))
	}
	for _, finding := range checkClaims(claims, testsIn(t, root)) {
		t.Error(finding)
	}
}

func TestSecurityCheckSeesWhatIsMissing(t *testing.T) {
	claims := claimsOf("- no list\n\n### It cannot\n\n- **A.** Is held.\n  `TestA` `TestB`\n  (x/y) `TestC` (z)\n" +
		"- **B.** Has none.\n\n### It can\n\n- **C.** Elsewhere. `TestA` (z)\n- **D.** No folder. `TestA`\n")
	tests := func(folder string) string {
		return map[string]string{"x/y": "func TestA(t\nfunc TestB(t", "z": "func TestC(t\nfunc TestAB("}[folder]
	}
	found := checkClaims(claims, tests)
	want := []string{
		"**B.** names no test", "**C.** names TestA, which z does not have", "**D.** names no test",
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// claimsOf are the items of the lists under "It cannot" and "It can".
func claimsOf(markdown string) []string {
	var claims []string
	for _, section := range strings.Split(markdown, "\n### It can")[1:] {
		claims = append(claims, strings.Split(section, "\n- ")[1:]...)
	}
	return claims
}

var (
	claimTitle = regexp.MustCompile(`(?s)^\*\*.*?\*\*`)
	heldBy     = regexp.MustCompile("((?:`(?:Test|Benchmark)\\w+`\\s+)+)\\(([\\w/]+)\\)")
	testName   = regexp.MustCompile(`\w+`)
)

// checkClaims reports claims without a test, and tests that a folder does not
// have.
func checkClaims(claims []string, tests func(folder string) string) []string {
	var findings []string
	for _, claim := range claims {
		title := claimTitle.FindString(claim)
		held := heldBy.FindAllStringSubmatch(claim, -1)
		if len(held) == 0 {
			findings = append(findings, title+" names no test")
		}
		for _, match := range held {
			for _, name := range testName.FindAllString(match[1], -1) {
				if !strings.Contains(tests(match[2]), "func "+name+"(") {
					findings = append(findings, fmt.Sprintf("%s names %s, which %s does not have", title, name, match[2]))
				}
			}
		}
	}
	return findings
}

// testsIn returns the text of all tests in a folder.
func testsIn(t *testing.T, root fs.FS) func(folder string) string {
	return func(folder string) string {
		names, err := fs.Glob(root, folder+"/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, name := range names {
			text, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		return all.String()
	}
}
