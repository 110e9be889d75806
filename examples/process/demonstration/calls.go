package demonstration

import (
	"fmt"
	"io"
	"slices"
)

// PrintCalls writes how often a program has sent each kind of request, most
// frequent first. A request is shown as in "patch nodes/status". Those of
// informers are not among them.
func PrintCalls(out io.Writer, calls map[string]int) {
	var lines []string
	for request, n := range calls {
		lines = append(lines, fmt.Sprintf("%4d %s", n, request))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	fmt.Fprintln(out, "calls of the controller, except lists and watches:")
	for _, line := range lines {
		fmt.Fprintf(out, "  %s\n", line)
	}
}
