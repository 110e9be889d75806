package main

import (
	"fmt"
	"strings"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
)

// view shows the demonstration by zone.
type view struct {
	screen    *demonstration.Screen
	witness   *witness
	lifecycle *lifecycle
}

// say tells about the script.
func (v *view) say(o outage, down bool) {
	text := o.title
	if !down {
		text = "over: " + o.title
	}
	v.screen.Say(text)
}

// draw shows how things are now.
func (v *view) draw() {
	v.witness.look()
	var zones []zone.Status
	var phase zone.Phase
	var pending int
	v.lifecycle.read(func(c *controller.Controller) {
		zones, phase, pending = c.Zones(), c.Phase(), c.Waiting()
	})
	if v.screen.IsLive() {
		v.picture(zones, phase, pending)
		return
	}
	v.changes(zones, phase)
}

// changes prints a line for the cluster and for each zone that has changed.
func (v *view) changes(zones []zone.Status, phase zone.Phase) {
	v.screen.Change("", fmt.Sprintf("cluster  %s", phase))
	for _, z := range zones {
		name, seen := v.seen(z)
		v.screen.Change(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
			name, z.State, seen.ready, seen.unknown, seen.tainted, seen.evicted))
	}
}

func (v *view) picture(zones []zone.Status, phase zone.Phase, pending int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs of %.0fs   cluster: %-9s   pods waiting to leave: %d\n\n",
		v.screen.Elapsed().Seconds(), demoLength.Seconds(), phase, pending)
	fmt.Fprintf(&b, "zone  %-*s  %-17s  nodes/s  evicted\n", demoNodesPerZone, "nodes", "state")
	for _, z := range zones {
		name, seen := v.seen(z)
		ill := max(seen.unknown-seen.tainted, 0)
		bar := strings.Repeat("\x1b[32m■\x1b[0m", seen.ready) + strings.Repeat("\x1b[33m■\x1b[0m", ill) +
			strings.Repeat("\x1b[31m■\x1b[0m", seen.tainted)
		rest := max(demoNodesPerZone-seen.ready-ill-seen.tainted, 0)
		fmt.Fprintf(&b, "%-4s  %s%s  %-17s  %7.2f  %7d\n", name, bar, strings.Repeat("·", rest), z.State, z.Rate,
			seen.evicted)
	}
	fmt.Fprintf(&b, "\n      \x1b[32m■\x1b[0m ready  \x1b[33m■\x1b[0m unknown  \x1b[31m■\x1b[0m tainted NoExecute\n\n")
	v.screen.Draw(b.String())
}

// seen returns a zone's short name and what the witness sees of it. The name of
// a zone in the API's form is region, separator, zone.
func (v *view) seen(z zone.Status) (string, zoneSeen) {
	name := z.Zone[strings.LastIndexByte(z.Zone, ':')+1:]
	name = strings.Trim(name, "\x00")
	return name, v.witness.zone(name)
}
