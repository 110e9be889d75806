package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/memory"
)

// errNotHeld says that the demonstration did something that it should not have.
var errNotHeld = errors.New("the summary does not hold")

// print writes the summary and returns errNotHeld if the controller did
// something that it should not have.
func (v *verdict) print(out io.Writer, calls map[memory.Request]int) error {
	if err := v.printFigures(out, calls); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nWhat that proves:")
	held := true
	for _, c := range v.claims() {
		held = c.print(out) && held
	}
	if !held {
		return errNotHeld
	}
	return nil
}

func (v *verdict) printFigures(out io.Writer, calls map[memory.Request]int) error {
	fmt.Fprintln(out, "\nWhat the API server stored:")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "zone\ttainted\tpods evicted\tof the rate allowed, at most")
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		z := v.zones[zone]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f%%\n", zone, z.tainted, z.evicted, 100*z.peak)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "from silence to Unknown: %s\n", spread(v.toUnknown))
	fmt.Fprintf(out, "from silence to taint:   %s\n", spread(v.toTaint))
	fmt.Fprintln(out, "calls of the controller, but for lists and watches:")
	for _, line := range calledOften(calls) {
		fmt.Fprintf(out, "  %s\n", line)
	}
	return nil
}

// A claim is something that holds if there is no exception to it.
type claim struct {
	says       string
	exceptions []string
}

func (v *verdict) claims() []claim {
	claims := []claim{
		{fmt.Sprintf("each of the %d pods that had to leave left", v.mustLeave), v.missing},
		{fmt.Sprintf("each of the %d pods that left had a reason to", v.left), v.wrong},
		{"no pod left before its toleration ended", v.early},
	}
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		var faster []string
		if peak := v.zones[zone].peak; peak > 1 {
			faster = []string{fmt.Sprintf("%.0f%% of what is allowed", 100*peak)}
		}
		claims = append(claims, claim{fmt.Sprintf("zone %s stayed within its rate", zone), faster})
	}
	claims = append(claims,
		claim{"no node was declared that had a heartbeat in its grace period", v.alive},
		claim{"no node was tainted that had been ready for a grace period", v.ready},
		claim{"no node was tainted while all were down, nor a grace period after", v.whileDown},
	)
	if v.mustLeave == 0 || v.left == 0 {
		claims = append(claims, claim{"pods had to leave, and did", []string{"none"}})
	}
	return claims
}

const (
	columns = 80
	// mostNamed exceptions say enough.
	mostNamed = 20
)

// print writes a line for the claim, and its exceptions below. It reports
// whether the claim holds.
func (c claim) print(out io.Writer) bool {
	if len(c.exceptions) == 0 {
		fmt.Fprintf(out, "ok    %s\n", c.says)
		return true
	}
	fmt.Fprintf(out, "FAIL  %s, but for %d:\n", c.says, len(c.exceptions))
	const margin = "     "
	line := margin
	for _, name := range c.exceptions[:min(len(c.exceptions), mostNamed)] {
		if line != margin && len(line)+1+len(name) > columns {
			fmt.Fprintln(out, line)
			line = margin
		}
		line += " " + name
	}
	fmt.Fprintln(out, line)
	if more := len(c.exceptions) - mostNamed; more > 0 {
		fmt.Fprintf(out, "%s and %d more\n", margin, more)
	}
	return false
}

// spread shows the least, the middle and the greatest of some durations.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("%.1fs first, %.1fs median, %.1fs last (%d times)",
		d[0].Seconds(), d[len(d)/2].Seconds(), d[len(d)-1].Seconds(), len(d))
}

func calledOften(calls map[memory.Request]int) []string {
	var lines []string
	for request, n := range calls {
		if request.Verb != "watch" && request.Verb != "list" {
			lines = append(lines, fmt.Sprintf("%4d %s", n, request))
		}
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return lines
}
