package architecture

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainPackagesKeepTheRulesOfProse(t *testing.T) {
	sources := readRooms(t, repository(t))
	for _, src := range sources {
		if slices.Contains(plainPackages, src.folder()) {
			report(t, checkWidth(src))
			report(t, checkWords(src))
		}
	}
	report(t, checkListed("plainPackages", plainPackages, packageFolders(sources)))
}

// checkWidth reports lines that are too wide.
func checkWidth(src source) []string {
	comments := commentLines(src)
	var findings []string
	number := 0
	for line := range strings.Lines(src.text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		kind, most := "code", widestCode
		if comments[number] {
			kind, most = "comment", widestComment
		}
		if columns := utf8.RuneCountInString(line); columns > most &&
			!(comments[number] && isUnbreakable(line)) {
			findings = append(findings, fmt.Sprintf("%s:%d: %d columns of %s, at most %d", src.path, number,
				columns, kind, most))
		}
	}
	return findings
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
