package demonstration

import (
	"fmt"
	"io"
	"slices"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// PrintCalls writes how often a client has sent each kind of request, most
// frequent first. Lists and watches, which are those of informers, are left
// out.
func PrintCalls(out io.Writer, calls map[memory.Request]int) {
	var lines []string
	for request, n := range calls {
		if request.Verb != "watch" && request.Verb != "list" {
			lines = append(lines, fmt.Sprintf("%4d %s", n, request))
		}
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	fmt.Fprintln(out, "calls of the controller, except lists and watches:")
	for _, line := range lines {
		fmt.Fprintf(out, "  %s\n", line)
	}
}
