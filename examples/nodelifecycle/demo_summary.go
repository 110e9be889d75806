package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// verdict is what the witness says of the controller.
type verdict struct {
	zones              map[string]*zoneVerdict
	mustLeave, left    int
	missing, wrong     []string // pods
	ready, whileDown   []string // nodes
	toUnknown, toTaint []time.Duration
	calls              map[string]int
}

type zoneVerdict struct {
	tainted, evicted int
	peak             float64 // of taints set, over the rate that is allowed
}

// print writes the summary, with what a judge of examples/outage has found. It
// returns ErrNotHeld if the controller did something that it should not have.
func (v *verdict) print(out io.Writer, found []invariant.Violation) error {
	if err := v.printFigures(out); err != nil {
		return err
	}
	return demonstration.PrintClaims(out, v.claims(found))
}

func (v *verdict) printFigures(out io.Writer) error {
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
	demonstration.PrintCalls(out, v.calls)
	return nil
}

func (v *verdict) claims(found []invariant.Violation) demonstration.Claims {
	var claims demonstration.Claims
	// take returns the texts of violations, and leaves the others.
	take := func(wanted ...invariant.Invariant) (texts []string) {
		found = slices.DeleteFunc(slices.Clone(found), func(one invariant.Violation) bool {
			is := slices.Contains(wanted, one.Invariant)
			if is {
				texts = append(texts, one.Text+";")
			}
			return is
		})
		return texts
	}
	claims.Add(slices.Concat(v.missing, take(invariant.InTime)),
		"each of the %d pods that had to leave left", v.mustLeave)
	claims.Add(slices.Concat(v.wrong, take(invariant.SparedWhenReady)),
		"each of the %d pods that left had a reason to", v.left)
	claims.Add(take(invariant.NeverEarly), "no pod left before its toleration ended")
	fast := take(invariant.WithinRate, invariant.KnownFirst)
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		var faster []string
		if peak := v.zones[zone].peak; peak > mostOfRate {
			faster = []string{fmt.Sprintf("%.0f%% of what is allowed;", 100*peak)}
		}
		for _, text := range fast {
			if strings.Contains(text, " node "+zone+"-") {
				faster = append(faster, text)
			}
		}
		claims.Add(faster, "zone %s stayed within its rate", zone)
	}
	claims.Add(take(invariant.NotDeclaredAlive), "no node was declared that had a heartbeat in its grace period")
	claims.Add(v.ready, "no node was tainted that had been ready for a grace period")
	claims.Add(slices.Concat(v.whileDown, take(invariant.SparedInOutage)),
		"no node was tainted while all were down, nor a grace period after")
	if v.mustLeave == 0 || v.left == 0 {
		claims.Add([]string{"none"}, "pods had to leave, and did")
	}
	if len(found) > 0 {
		var others []string
		for _, one := range found {
			others = append(others, fmt.Sprintf("%s: %s;", one.Invariant, one.Text))
		}
		claims.Add(others, "everything else was as the controller promises")
	}
	return claims
}

// mostOfRate is above one by what rounding may add.
const mostOfRate = 1.0001

// spread shows the least, the middle and the greatest of some durations.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("%.1fs first, %.1fs median, %.1fs last (%d times)",
		d[0].Seconds(), d[len(d)/2].Seconds(), d[len(d)-1].Seconds(), len(d))
}
