package demonstration

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// PrintCalls writes how often a client has sent each kind of request, most
// frequent first. A request is shown as in "patch nodes/status". Lists and
// watches, which are those of informers, are left out.
func PrintCalls[Request comparable](out io.Writer, calls map[Request]int) {
	var lines []string
	for request, n := range calls {
		text := fmt.Sprint(request)
		if !strings.HasPrefix(text, "watch ") && !strings.HasPrefix(text, "list ") {
			lines = append(lines, fmt.Sprintf("%4d %s", n, text))
		}
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	fmt.Fprintln(out, "calls of the controller, except lists and watches:")
	for _, line := range lines {
		fmt.Fprintf(out, "  %s\n", line)
	}
}
