package main

import (
	"fmt"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
)

// view shows the demonstration by zone.
type view struct {
	screen  *demonstration.Screen
	seen    *witness
	replica *simulation.Replica
}

// draw shows how things are now. Without a terminal it prints a line for the
// cluster and for each zone that has changed.
func (v *view) draw() {
	knows := v.replica.Knowledge()
	if v.screen.IsLive() {
		v.screen.Draw(v.picture(&knows))
		return
	}
	v.screen.Change("", fmt.Sprintf("cluster  %s", knows.Phase))
	for _, z := range knows.Zones {
		name := nameOf(z)
		now := v.seen.zone(name)
		v.screen.Change(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
			name, z.State, now.ready, now.unknown, now.tainted, now.evicted))
	}
}

func (v *view) picture(knows *simulation.Knowledge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs of %.0fs   cluster: %-9s   pods waiting to leave: %d\n\n",
		v.screen.Elapsed().Seconds(), demoLength.Seconds(), knows.Phase, knows.Pending)
	fmt.Fprintf(&b, "zone  %-*s  %-17s  nodes/s  evicted\n", demoNodesPerZone, "nodes", "state")
	for _, z := range knows.Zones {
		name := nameOf(z)
		now := v.seen.zone(name)
		ill := max(now.unknown-now.tainted, 0)
		bar := strings.Repeat("\x1b[32m■\x1b[0m", now.ready) + strings.Repeat("\x1b[33m■\x1b[0m", ill) +
			strings.Repeat("\x1b[31m■\x1b[0m", now.tainted)
		rest := max(demoNodesPerZone-now.ready-ill-now.tainted, 0)
		fmt.Fprintf(&b, "%-4s  %s%s  %-17s  %7.2f  %7d\n", name, bar, strings.Repeat("·", rest), z.State, z.Rate,
			now.evicted)
	}
	fmt.Fprintf(&b, "\n      \x1b[32m■\x1b[0m ready  \x1b[33m■\x1b[0m unknown  \x1b[31m■\x1b[0m tainted NoExecute\n\n")
	return b.String()
}

// nameOf returns a zone's short name. In the API's form it is region,
// separator, zone.
func nameOf(z zone.Status) string {
	return strings.Trim(z.Zone[strings.LastIndexByte(z.Zone, ':')+1:], "\x00")
}
