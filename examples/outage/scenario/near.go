package scenario

import (
	"fmt"
	"strings"

	edlib "github.com/hbollon/go-edlib"
)

// missing says that there is no such thing, and what there is: the one that was
// probably meant, or else all of them. The plural of the noun is made with an
// s. Where says where it was looked for, " in a zone", if that is not clear.
func missing(noun, name, where string, existing []string) string {
	text := fmt.Sprintf("there is no %s %s%s", noun, shown(name), where)
	if meant := nearest(name, existing); meant != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, meant)
	}
	if len(existing) == 0 {
		return text + "; there are none"
	}
	return fmt.Sprintf("%s; %ss are %s", text, noun, listed(existing))
}

// shown quotes what would be hard to read in a sentence.
func shown(name string) string {
	const plain = "-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if name == "" || strings.Trim(name, plain) != "" {
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

// nearest returns the name that is like the given one, empty if there is none.
// A third of the letters may be wrong, and case does not count. A part of at
// least four letters, the beginning or the end, stands for the whole if only
// one name has it.
func nearest(name string, existing []string) string {
	lower := strings.ToLower(name)
	best, distance, parts := "", len(lower)/3+1, []string(nil)
	for _, candidate := range existing {
		other := strings.ToLower(candidate)
		if max(len(lower)-len(other), len(other)-len(lower)) < distance {
			if d := edlib.OSADamerauLevenshteinDistance(lower, other); d < distance {
				best, distance = candidate, d
			}
		}
		if len(lower) >= 4 && (strings.HasPrefix(other, lower) || strings.HasSuffix(other, lower)) {
			parts = append(parts, candidate)
		}
	}
	if best == "" && len(parts) == 1 {
		return parts[0]
	}
	return best
}
