package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/zone"
)

// view shows the demonstration: on a terminal as a picture that is redrawn,
// elsewhere as a line a change. Neither is wider than 80 columns.
type view struct {
	out       io.Writer
	live      bool
	world     *world
	witness   *witness
	lifecycle *lifecycle

	told  []string // what has happened, last first
	drawn int      // lines to go back
	// last is what was printed last about each zone, and about the cluster under
	// the empty name.
	last map[string]string
}

// say tells about the script.
func (v *view) say(o outage, down bool) {
	text := o.title
	if !down {
		text = "over: " + o.title
	}
	line := fmt.Sprintf("%5.1fs  %s", time.Since(v.world.started).Seconds(), text)
	v.told = append([]string{line}, v.told...)
	if !v.live {
		fmt.Fprintln(v.out, line)
	}
}

// draw shows how things are now.
func (v *view) draw() {
	var zones []zone.Status
	var phase zone.Phase
	var pending int
	v.lifecycle.read(func(c *controller.Controller) {
		zones, phase, pending = c.Zones(), c.Phase(), c.Waiting()
	})
	if v.live {
		v.picture(zones, phase, pending)
		return
	}
	v.changes(zones, phase)
}

// changes prints a line for the cluster and for each zone that has changed.
func (v *view) changes(zones []zone.Status, phase zone.Phase) {
	v.change("", fmt.Sprintf("cluster  %s", phase))
	for _, z := range zones {
		name, seen := v.seen(z)
		v.change(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
			name, z.State, seen.ready, seen.unknown, seen.tainted, seen.evicted))
	}
}

func (v *view) change(about, line string) {
	if v.last[about] == line {
		return
	}
	v.last[about] = line
	fmt.Fprintf(v.out, "%5.1fs  %s\n", time.Since(v.world.started).Seconds(), line)
}

func (v *view) picture(zones []zone.Status, phase zone.Phase, pending int) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.drawn)
	}
	fmt.Fprintf(&b, "%5.1fs of %.0fs   cluster: %-9s   pods waiting to leave: %d\n\n",
		time.Since(v.world.started).Seconds(), demoLength.Seconds(), phase, pending)
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
	for _, line := range v.told[:min(len(v.told), 6)] {
		fmt.Fprintln(&b, line)
	}
	v.drawn = strings.Count(b.String(), "\n")
	fmt.Fprint(v.out, b.String())
}

// seen returns a zone's short name and what the witness sees of it. The name of
// a zone in the API's form is region, separator, zone.
func (v *view) seen(z zone.Status) (string, zoneSeen) {
	name := z.Zone[strings.LastIndexByte(z.Zone, ':')+1:]
	name = strings.Trim(name, "\x00")
	return name, v.witness.zone(name)
}
