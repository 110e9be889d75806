package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// missing says that there is no such thing, and what there is: the one that was
// probably meant, or else all of them. The plural of the noun is made with an
// s.
func missing(noun, name string, existing []string) string {
	return missingIn(noun, name, "", existing)
}

// missingIn says in addition where it was looked for.
func missingIn(noun, name, where string, existing []string) string {
	text := fmt.Sprintf("there is no %s %s", noun, shown(name))
	if where != "" {
		text += " in " + where
	}
	if meant, ok := nearest(name, existing); ok {
		return fmt.Sprintf("%s; did you mean %s?", text, meant)
	}
	if len(existing) == 0 {
		return text + "; there are none"
	}
	return fmt.Sprintf("%s; %ss are %s", text, noun, listed(existing))
}

// shown quotes what would be hard to read in a sentence.
func shown(name string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return fmt.Sprintf("%.80q", name)
	}
	return fmt.Sprintf("%.80s", name)
}

// listed enumerates names, not more than a user would read.
func listed(names []string) string {
	const most = 40
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// nearest returns the name that is like the given one, if there is any. A third
// of the letters may be wrong, and case does not count. A part of at least four
// letters, the beginning or the end, stands for the whole if only one name has
// it.
func nearest(name string, existing []string) (string, bool) {
	lower := strings.ToLower(name)
	best, bestDistance := "", len(lower)/3+1
	for _, candidate := range existing {
		if d := distance(lower, strings.ToLower(candidate), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" || len(lower) < 4 {
		return best, best != ""
	}
	var parts []string
	for _, candidate := range existing {
		other := strings.ToLower(candidate)
		if strings.HasPrefix(other, lower) || strings.HasSuffix(other, lower) {
			parts = append(parts, candidate)
		}
	}
	if len(parts) != 1 {
		return "", false
	}
	return parts[0], true
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour that make b of a: the optimal string alignment distance. It may
// return any number from enough on for those that are at least so far apart.
func distance(a, b string, enough int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= enough {
		return enough
	}
	// Rows of the usual table: the one that is filled in and the two before it.
	row, above, twoAbove := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		row, above, twoAbove = twoAbove, row, above
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], twoAbove[j-1]+1)
			}
		}
		if slices.Min(row) >= enough {
			return enough
		}
	}
	return row[len(b)]
}
