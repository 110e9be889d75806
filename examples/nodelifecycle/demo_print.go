package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// print writes the summary and returns ErrNotHeld if the controller did
// something that it should not have.
func (v *verdict) print(out io.Writer, calls map[memory.Request]int) error {
	if err := v.printFigures(out, calls); err != nil {
		return err
	}
	return demonstration.PrintClaims(out, v.claims())
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
	demonstration.PrintCalls(out, calls)
	return nil
}

func (v *verdict) claims() demonstration.Claims {
	var claims demonstration.Claims
	claims.Add(v.missing, "each of the %d pods that had to leave left", v.mustLeave)
	claims.Add(v.wrong, "each of the %d pods that left had a reason to", v.left)
	claims.Add(v.early, "no pod left before its toleration ended")
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		var faster []string
		if peak := v.zones[zone].peak; peak > 1 {
			faster = []string{fmt.Sprintf("%.0f%% of what is allowed", 100*peak)}
		}
		claims.Add(faster, "zone %s stayed within its rate", zone)
	}
	claims.Add(v.alive, "no node was declared that had a heartbeat in its grace period")
	claims.Add(v.ready, "no node was tainted that had been ready for a grace period")
	claims.Add(v.whileDown, "no node was tainted while all were down, nor a grace period after")
	if v.mustLeave == 0 || v.left == 0 {
		claims.Add([]string{"none"}, "pods had to leave, and did")
	}
	return claims
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
