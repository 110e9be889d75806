package architecture

import (
	"cmp"
	"fmt"
	"go/doc/comment"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A reader that starts at the lowest line of a package's drawing never meets a
// declaration that is explained further up.
func TestFilesStandInLayers(t *testing.T) {
	folders := typedFolders(t, typedPrograms)
	for _, folder := range folders {
		p := readTyped(t, folder)
		if slices.Contains(undrawnPackages, folder) {
			report(t, checkUndrawn(p))
			continue
		}
		report(t, checkLayers(p))
	}
	report(t, checkListed("undrawnPackages", undrawnPackages, folders))
}

// layersHeading begins the section of a package comment that draws its layers.
const layersHeading = "Layers"

// checkLayers reports where the files of a package leave the drawing of their
// layers. Files of one line may use each other, but not in a circle.
func checkLayers(p typedPackage) []string {
	lines := drawnLayers(p)
	if lines == nil {
		return []string{fmt.Sprintf("%s: the package comment draws no layers; "+
			"want a section %q with a line of file names per layer", p.folder, layersHeading)}
	}
	findings := checkDrawing(p, lines)
	place := map[string]int{}
	for i, line := range lines {
		for _, name := range line {
			place[name] = i
		}
	}
	var upward, level []fileUse
	for _, use := range p.fileUses() {
		from, fromDrawn := place[use.from]
		to, toDrawn := place[use.to]
		switch {
		case !fromDrawn || !toDrawn:
			// checkDrawing has reported the file.
		case to < from:
			upward = append(upward, use)
		case to == from:
			level = append(level, use)
		}
	}
	if len(upward) > 0 {
		findings = append(findings, fmt.Sprintf("%s: %d uses run upward", p.folder, len(upward)))
	}
	for _, use := range upward {
		findings = append(findings, p.at(use.pos,
			fmt.Sprintf("upward: %s uses %s, which %s above it declares", use.from, use.name, use.to)))
	}
	for _, use := range circular(level) {
		findings = append(findings, p.at(use.pos,
			fmt.Sprintf("in a circle: %s uses %s of %s, on the same line", use.from, use.name, use.to)))
	}
	return findings
}

// drawnLayers reads the lines of the drawing from the package comment, the
// highest layer first. It is nil when there is no drawing.
func drawnLayers(p typedPackage) [][]string {
	var parser comment.Parser
	for _, src := range p.sources {
		inSection := false
		for _, block := range parser.Parse(src.file.Doc.Text()).Content {
			switch b := block.(type) {
			case *comment.Heading:
				inSection = slices.Equal(b.Text, []comment.Text{comment.Plain(layersHeading)})
			case *comment.Code:
				if inSection {
					return wordsByLine(b.Text)
				}
			}
		}
	}
	return nil
}

func wordsByLine(text string) [][]string {
	var lines [][]string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, words)
		}
	}
	return lines
}

// checkDrawing compares the names in the drawing with the files. A doc.go that
// declares nothing needs no place.
func checkDrawing(p typedPackage, lines [][]string) []string {
	undrawn := map[string]bool{}
	for _, src := range p.sources {
		if name := fileName(src.path); name != "doc" || len(src.file.Decls) > 0 {
			undrawn[name] = true
		}
	}
	files := maps.Clone(undrawn)
	var findings []string
	for _, name := range slices.Concat(lines...) {
		switch {
		case !files[name]:
			findings = append(findings, fmt.Sprintf("%s: the drawing names %s, and there is no such file",
				p.folder, name))
		case !undrawn[name]:
			findings = append(findings, fmt.Sprintf("%s: the drawing names %s twice", p.folder, name))
		}
		delete(undrawn, name)
	}
	for _, name := range slices.Sorted(maps.Keys(undrawn)) {
		findings = append(findings, fmt.Sprintf("%s: the drawing leaves out %s", p.folder, name))
	}
	return findings
}

// fileUse is one place at which a file uses what another file of its package
// declares. That is a function, a type, a variable, a constant, a method or a
// field.
type fileUse struct {
	from, to, name string
	pos            token.Pos
}

// fileUses lists the uses between files in the order of the text.
func (p typedPackage) fileUses() []fileUse {
	var uses []fileUse
	for ident, object := range p.info.Uses {
		if object.Pkg() != p.pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := p.fileOf(ident.Pos()), p.fileOf(object.Pos())
		if from != to {
			uses = append(uses, fileUse{fileName(from), fileName(to), ident.Name, ident.Pos()})
		}
	}
	slices.SortFunc(uses, func(a, b fileUse) int { return cmp.Compare(a.pos, b.pos) })
	return uses
}

// circular returns the uses that lie on circles or between them. It drops the
// uses from files that nothing uses, and of files that use nothing, until none
// is left.
func circular(uses []fileUse) []fileUse {
	for {
		using, used := map[string]bool{}, map[string]bool{}
		for _, use := range uses {
			using[use.from], used[use.to] = true, true
		}
		rest := slices.DeleteFunc(slices.Clone(uses),
			func(use fileUse) bool { return !used[use.from] || !using[use.to] })
		if len(rest) == len(uses) {
			return rest
		}
		uses = rest
	}
}

// checkUndrawn reports an entry of undrawnPackages that is no longer needed.
func checkUndrawn(p typedPackage) []string {
	if len(checkLayers(p)) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("stale entry: undrawnPackages lists %s, "+
		"which draws its layers and keeps to them", p.folder)}
}

// checkListed reports entries of a list that are none of the things it is
// about.
func checkListed(list string, entries, known []string) []string {
	var findings []string
	for _, entry := range entries {
		if !slices.Contains(known, entry) {
			findings = append(findings, fmt.Sprintf("stale entry: %s lists %s, which does not exist",
				list, entry))
		}
	}
	return findings
}
