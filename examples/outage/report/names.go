package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// numbered is a name that ends in a number, as nodes' names do.
type numbered struct {
	name, prefix string
	number       int // -1 if it does not
}

func number(name string) numbered {
	prefix := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(prefix):])
	if err != nil {
		return numbered{name, name, -1}
	}
	return numbered{name, prefix, n}
}

func (n numbered) compare(other numbered) int {
	return cmp.Or(strings.Compare(n.prefix, other.prefix), cmp.Compare(n.number, other.number),
		strings.Compare(n.name, other.name))
}

// follows reports whether the name is the one after the other.
func (n numbered) follows(other numbered) bool {
	return n.prefix == other.prefix && n.number >= 0 && n.number == other.number+1
}

// inOrder sorts names so that a-2 comes before a-10.
func inOrder(names []string) []string {
	all := make([]numbered, len(names))
	for i, name := range names {
		all[i] = number(name)
	}
	slices.SortFunc(all, numbered.compare)
	sorted := make([]string, len(all))
	for i := range all {
		sorted[i] = all[i].name
	}
	return sorted
}

const (
	// mostSpans is how many names and spans of names are shown.
	mostSpans = 4
	// shortestSpan is how many names become a span. Two are no longer when written
	// out.
	shortestSpan = 3
)

// abbreviate shows names, which are in order: a-0 .. a-19, b-3 and 5 more.
func abbreviate(names []string) string {
	var shown []string
	for i := 0; i < len(names); {
		if len(shown) == mostSpans {
			return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), len(names)-i)
		}
		end := i + 1
		for end < len(names) && number(names[end]).follows(number(names[end-1])) {
			end++
		}
		if end-i < shortestSpan {
			shown = append(shown, names[i])
			i++
			continue
		}
		shown = append(shown, names[i]+" .. "+names[end-1])
		i = end
	}
	return strings.Join(shown, ", ")
}
