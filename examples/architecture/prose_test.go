package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRoomsKeepTheRulesOfProse(t *testing.T) {
	sources := readRooms(t, repository(t))
	for _, src := range sources {
		report(t, checkWidth(src, widestCode))
		report(t, checkWords(src))
	}
}

func TestProgramsKeepTheRulesOfProse(t *testing.T) {
	sources := readTree(t, repository(t), "examples")
	folders := packageFolders(sources)
	for _, folder := range []string{"examples/outage/invariant", "examples/e2e/controlplane"} {
		if !slices.Contains(folders, folder) {
			t.Errorf("no Go file of %s was read", folder)
		}
	}
	excepted := map[string]int{} // findings by folder
	for _, src := range sources {
		report(t, checkWidth(src, widestProgram))
		report(t, checkWords(src))
		report(t, checkPhrases(src))
		findings := checkSentences(src)
		if slices.Contains(longSentences, src.folder()) {
			excepted[src.folder()] += len(findings)
			continue
		}
		report(t, findings)
	}
	for _, folder := range longSentences {
		if excepted[folder] == 0 {
			t.Errorf("longSentences has %s, whose comments keep to %d words", folder, longestSentence)
		}
	}
}

// checkWidth reports lines that are too wide, with the most columns that code
// may have.
func checkWidth(src source, code int) []string {
	comments, texts := commentLines(src), textLines(src)
	var findings []string
	number := 0
	for line := range strings.Lines(src.text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		kind, most := "code", code
		if comments[number] {
			kind, most = "comment", widestComment
		} else {
			line, _, _ = strings.Cut(line, " //nolint:")
		}
		if columns := utf8.RuneCountInString(line); columns > most && !texts[number] &&
			!(comments[number] && isUnbreakable(line)) {
			findings = append(findings, fmt.Sprintf("%s:%d: %d columns of %s, at most %d", src.path, number,
				columns, kind, most))
		}
	}
	return findings
}

// textLines are the numbers of the lines that cannot be broken without changing
// a text. They are those of a raw string with several, and the output of an
// example.
func textLines(src source) map[int]bool {
	lines := map[int]bool{}
	add := func(from, to token.Pos) {
		for line := src.fset.Position(from).Line; line <= src.fset.Position(to).Line; line++ {
			lines[line] = true
		}
	}
	ast.Inspect(src.file, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok && strings.Contains(text.Value, "\n") {
			add(text.Pos(), text.End())
		}
		return true
	})
	for _, group := range src.file.Comments {
		for _, comment := range group.List {
			if outputMark.MatchString(strings.TrimSpace(commentText(comment))) {
				add(comment.End(), group.End())
			}
		}
	}
	return lines
}

// commentLines are the numbers of the lines that hold only a comment.
func commentLines(src source) map[int]bool {
	lines := map[int]bool{}
	for _, comment := range comments(src) {
		first, last := src.fset.Position(comment.Pos()), src.fset.Position(comment.End())
		for line := first.Line; line <= last.Line; line++ {
			lines[line] = true
		}
		begin := first.Offset - (first.Column - 1)
		if strings.TrimSpace(src.text[begin:first.Offset]) != "" {
			delete(lines, first.Line)
		}
	}
	return lines
}

func comments(src source) []*ast.Comment {
	var all []*ast.Comment
	for _, group := range src.file.Comments {
		all = append(all, group.List...)
	}
	return all
}

var directive = regexp.MustCompile(`^//[a-z]+:\S`)

// isUnbreakable recognizes directives, and comments of one word, such as an
// URL.
func isUnbreakable(line string) bool {
	line = strings.TrimSpace(line)
	return directive.MatchString(line) || len(strings.Fields(strings.TrimPrefix(line, "//"))) == 1
}

var personal = regexp.MustCompile(`(?i)\b(` + strings.Join(personalWords, "|") + `)\b`)

// checkWords reports words in comments that plain prose does without.
func checkWords(src source) []string {
	var findings []string
	for _, comment := range comments(src) {
		first := src.fset.Position(comment.Pos()).Line
		for i, line := range strings.Split(comment.Text, "\n") {
			for _, word := range personal.FindAllString(line, -1) {
				findings = append(findings, fmt.Sprintf("%s:%d: the comment says %q", src.path, first+i, word))
			}
		}
	}
	return findings
}
