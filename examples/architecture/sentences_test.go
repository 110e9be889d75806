package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

func TestStrictPackagesHaveShortSentencesAndPlainPhrases(t *testing.T) {
	repo := repository(t)
	sources := append(readRooms(t, repo), readTree(t, repo, "examples")...)
	for _, src := range sources {
		if !slices.Contains(strictPackages, src.folder()) {
			continue
		}
		report(t, checkSentences(src))
		report(t, checkPhrases(src))
		report(t, checkMeanings(src))
		report(t, checkStrings(src))
		report(t, checkIdentifiers(src))
	}
	folders := packageFolders(sources)
	report(t, checkListed("strictPackages", strictPackages, folders))
	for word, homes := range severalMeanings {
		report(t, checkListed("severalMeanings of "+word, homes, folders))
		report(t, checkHomes(word, homes, sources))
	}
}

// checkHomes reports packages that may use a word and do not.
func checkHomes(word string, homes []string, sources []source) []string {
	var findings []string
	for _, home := range homes {
		if !slices.ContainsFunc(sources, func(src source) bool { return src.folder() == home && hasWord(src, word) }) {
			findings = append(findings, fmt.Sprintf("severalMeanings of %s has %s, which does not use it", word, home))
		}
	}
	return findings
}

// hasWord reports whether a file has a form of an entry of severalMeanings.
func hasWord(src source, entry string) bool {
	for _, name := range wordPattern.FindAllString(src.text, -1) {
		if slices.ContainsFunc(camelWords(name), func(word string) bool { return stem(word) == entry }) {
			return true
		}
	}
	return false
}

// paragraph is the text of a comment between blank lines, or of one list item.
type paragraph struct {
	line int // its first one
	text string
}

// paragraphs returns the prose of a file's comments. Code, headings, directives
// and the output of examples are left out.
func paragraphs(src source) []paragraph {
	var all []paragraph
	for _, group := range src.file.Comments {
		all = append(all, paragraphsOf(src, group)...)
	}
	return all
}

func paragraphsOf(src source, group *ast.CommentGroup) []paragraph {
	var all []paragraph
	open := false // the last paragraph goes on with the next line
	for _, comment := range group.List {
		first := src.fset.Position(comment.Pos()).Line
		for i, line := range strings.Split(commentText(comment), "\n") {
			text := strings.TrimSpace(line)
			item := strings.HasPrefix(text, "- ")
			switch {
			case outputMark.MatchString(text):
				return all
			case text == "", strings.HasPrefix(text, "# "), isCodeLine(line, open):
				open = false
			case item || !open:
				all = append(all, paragraph{first + i, strings.TrimPrefix(text, "- ")})
				open = true
			default:
				all[len(all)-1].text += " " + text
			}
		}
	}
	return all
}

// commentText returns a comment without its markers. A directive has no text.
func commentText(comment *ast.Comment) string {
	if directive.MatchString(comment.Text) {
		return ""
	}
	if text, isLine := strings.CutPrefix(comment.Text, "//"); isLine {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
}

var outputMark = regexp.MustCompile(`(?i)^(unordered )?output:`)

// isCodeLine reports whether a comment's line shows code. Four spaces go on
// with a list item.
func isCodeLine(line string, inItem bool) bool {
	if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " \t") {
		return true
	}
	indented := strings.HasPrefix(line, "  ")
	return indented && !inItem && !strings.HasPrefix(strings.TrimSpace(line), "- ")
}

var sentenceEnd = regexp.MustCompile(`[.?!]["')\]]*\s+`)

// checkSentences reports sentences with too many words. Marks without a letter
// or digit are no words.
func checkSentences(src source) []string { return sentencesOf(src, paragraphs(src)) }

func sentencesOf(src source, prose []paragraph) []string {
	var findings []string
	for _, p := range prose {
		for _, sentence := range sentenceEnd.Split(p.text, -1) {
			words := slices.DeleteFunc(strings.Fields(sentence), isMark)
			if len(words) > longestSentence {
				findings = append(findings, fmt.Sprintf("%s:%d: %d words in a sentence, at most %d: %s",
					src.path, p.line, len(words), longestSentence, sentence))
			}
		}
	}
	return findings
}

func isMark(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

var roundabout = regexp.MustCompile(`(?i)\b(` + strings.Join(roundaboutPhrases, "|") + `)`)

// checkPhrases reports phrases that have a plainer one, also across the lines
// of a comment.
func checkPhrases(src source) []string { return phrasesOf(src, paragraphs(src)) }

func phrasesOf(src source, prose []paragraph) []string {
	var findings []string
	for _, p := range prose {
		for _, phrase := range roundabout.FindAllString(p.text, -1) {
			findings = append(findings, fmt.Sprintf("%s:%d: the comment says %q", src.path, p.line, phrase))
		}
	}
	return findings
}

// checkMeanings reports words in comments that mean something else in another
// package.
func checkMeanings(src source) []string {
	var findings []string
	for _, p := range paragraphs(src) {
		for _, word := range wordPattern.FindAllString(p.text, -1) {
			if strayMeaning(src.folder(), word) {
				findings = append(findings, fmt.Sprintf("%s:%d: the comment says %q, which has its meaning in %q",
					src.path, p.line, word, severalMeanings[stem(word)]))
			}
		}
	}
	return findings
}

var wordPattern = regexp.MustCompile(`[A-Za-z]+`)

// strayMeaning reports whether a word has its one meaning outside a folder.
func strayMeaning(folder, word string) bool {
	homes, listed := severalMeanings[stem(word)]
	return listed && !slices.Contains(homes, folder)
}

// stem returns the entry of severalMeanings that a word is a form of, or the
// word itself.
func stem(word string) string {
	word = strings.ToLower(word)
	for _, ending := range []string{"", "s", "d", "ed", "ing"} {
		rest, ok := strings.CutSuffix(word, ending)
		for _, entry := range []string{rest, rest + "e"} {
			if _, listed := severalMeanings[entry]; ok && listed {
				return entry
			}
		}
	}
	return word
}

// checkStrings reports personal words and words with several meanings in
// messages and in names of test cases.
func checkStrings(src source) []string {
	var findings []string
	imports := map[*ast.BasicLit]bool{}
	for _, spec := range src.file.Imports {
		imports[spec.Path] = true
	}
	ast.Inspect(src.file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || imports[literal] {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		for _, word := range wordPattern.FindAllString(text, -1) {
			if personal.MatchString(word) || strayMeaning(src.folder(), word) {
				findings = append(findings, src.at(literal.Pos(), fmt.Sprintf("the text says %q", word)))
			}
		}
		return true
	})
	return findings
}

// checkIdentifiers reports names with a word that means something else in
// another package, or that makes a person of an object. Names of other modules
// do not count, and of the names in a test file only those of test functions
// do.
func checkIdentifiers(src source) []string {
	var findings []string
	check := func(ident *ast.Ident) {
		// The A of ANewNode is a word of its own.
		for _, word := range camelWords(strings.ReplaceAll(ident.Name, "ANew", "New")) {
			if strayMeaning(src.folder(), word) || src.isTest() && personal.MatchString(word) {
				findings = append(findings, src.at(ident.Pos(),
					fmt.Sprintf("the name %s has the word %q", ident.Name, word)))
			}
		}
	}
	foreign := foreignNames(src)
	ast.Inspect(src.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && foreign[of.Name] {
				return false
			}
		case *ast.FuncDecl:
			if src.isTest() && testFunction.MatchString(n.Name.Name) {
				check(n.Name)
			}
			return !src.isTest()
		case *ast.Ident:
			if !src.isTest() {
				check(n)
			}
		}
		return true
	})
	return findings
}

// foreignNames are the names by which a file calls packages of other modules.
func foreignNames(src source) map[string]bool {
	names := map[string]bool{}
	for _, spec := range src.file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if below(imported, modulePath) {
			continue
		}
		names[path.Base(imported)] = true
		if spec.Name != nil {
			names[spec.Name.Name] = true
		}
	}
	return names
}

var testFunction = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`)

func TestDocCommentsOfProgramsHaveShortSentences(t *testing.T) {
	for _, src := range readTree(t, repository(t), "examples") {
		if !src.isTest() {
			report(t, sentencesOf(src, docParagraphs(src)))
		}
	}
}

// docParagraphs returns the prose of the comments of a package and of its
// exported declarations, with those of their fields and methods.
func docParagraphs(src source) []paragraph {
	var all []paragraph
	add := func(groups ...*ast.CommentGroup) {
		for _, group := range groups {
			if group != nil {
				all = append(all, paragraphsOf(src, group)...)
			}
		}
	}
	add(src.file.Doc)
	for _, declaration := range src.file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				add(d.Doc)
			}
		case *ast.GenDecl:
			add(docOf(d)...)
		}
	}
	return all
}

// docOf returns the comments of the exported names of a declaration.
func docOf(d *ast.GenDecl) []*ast.CommentGroup {
	var groups []*ast.CommentGroup
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				groups = append(groups, s.Doc)
				ast.Inspect(s.Type, func(node ast.Node) bool {
					field, ok := node.(*ast.Field)
					if ok && slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
						groups = append(groups, field.Doc, field.Comment)
					}
					return true
				})
			}
		case *ast.ValueSpec:
			if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
				groups = append(groups, s.Doc, s.Comment)
			}
		}
	}
	if len(groups) > 0 {
		groups = append(groups, d.Doc)
	}
	return groups
}
