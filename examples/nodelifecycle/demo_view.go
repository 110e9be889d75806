package main

import (
	"fmt"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
)

// draw shows how things are now, by zone. Without a terminal it prints a line
// for the cluster and for each zone that has changed.
func (p *play) draw() {
	knows := p.Replicas()[0].Knowledge()
	p.screen.Show(func() string { return p.picture(&knows) }, func() {
		p.screen.Change("", fmt.Sprintf("cluster  %s", knows.Phase))
		for _, z := range knows.Zones {
			name := nameOf(z)
			now := p.recorder.Tally(name)
			p.screen.Change(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
				name, z.State, now.Ready+now.Silent, now.NotReady, now.Tainted, now.Evicted))
		}
	})
}

func (p *play) picture(knows *simulation.Knowledge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs of %.0fs   cluster: %-9s   pods waiting to leave: %d\n\n",
		p.screen.Elapsed().Seconds(), demoLength.Seconds(), knows.Phase, knows.Pending)
	fmt.Fprintf(&b, "zone  %-*s  %-17s  nodes/s  evicted\n", demoNodesPerZone, "nodes", "state")
	for _, z := range knows.Zones {
		name := nameOf(z)
		now := p.recorder.Tally(name)
		fmt.Fprintf(&b, "%-4s  %s  %-17s  %7.2f  %7d\n", name, bar(now), z.State, z.Rate, now.Evicted)
	}
	fmt.Fprintf(&b, "\n      %s ready  %s unknown  %s tainted NoExecute\n\n",
		demonstration.Green.Paint("■"), demonstration.Yellow.Paint("■"), demonstration.Red.Paint("■"))
	return b.String()
}

// bar shows the nodes of a zone by state.
func bar(now report.Tally) string {
	return strings.Repeat(demonstration.Green.Paint("■"), now.Ready+now.Silent) +
		strings.Repeat(demonstration.Yellow.Paint("■"), now.NotReady) +
		strings.Repeat(demonstration.Red.Paint("■"), now.Tainted)
}

// nameOf returns a zone's short name. In the API's form it is region,
// separator, zone.
func nameOf(z zone.Status) string {
	return strings.Trim(z.Zone[strings.LastIndexByte(z.Zone, ':')+1:], "\x00")
}
