package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// mostWaits is how many of the nodes that wait the page lists.
const mostWaits = 1000

// waitView is the part of the page about single nodes: each that is silent or
// not ready and is not acted on, and why.
type waitView struct {
	count map[controller.WaitReason]int
	// nodes are the first ones by zone and name.
	nodes []controller.NodeWait
	// zones are those in which a node waits for a rate, in plain words.
	zones []string
}

func viewWaits(state reader, now time.Time) waitView {
	v := waitView{count: map[controller.WaitReason]int{}}
	zones := map[string]bool{}
	eachWait(state, now, func(wait controller.NodeWait) {
		v.count[wait.Reason]++
		if wait.Reason == controller.WaitRate || wait.Reason == controller.WaitTurn {
			zones[wait.Zone] = true
		}
		if v.nodes = append(v.nodes, wait); len(v.nodes) >= 2*mostWaits {
			v.keepFirst()
		}
	})
	v.keepFirst()
	state.read(func(c *controller.Controller) {
		for _, z := range c.Zones() {
			if zones[z.Zone] {
				v.zones = append(v.zones, controller.DescribeZone(z, c.Queued(z.Zone)))
			}
		}
	})
	return v
}

func (v *waitView) keepFirst() {
	slices.SortFunc(v.nodes, func(a, b controller.NodeWait) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), strings.Compare(a.Node, b.Node))
	})
	v.nodes = v.nodes[:min(len(v.nodes), mostWaits)]
}

func (v *waitView) writeText(out io.Writer) {
	for _, reason := range controller.WaitReasons() {
		if count := v.count[reason]; count > 0 {
			fmt.Fprintf(out, "Nodes that are silent or not ready and not acted on, because %s (%s): %d.\n",
				reason, string(reason), count)
		}
	}
	for _, text := range v.zones {
		fmt.Fprintln(out, text)
	}
	for _, wait := range v.nodes {
		fmt.Fprintf(out, "Node %s in zone %q since %s: %s\n",
			wait.Node, wait.Zone, wait.Since.UTC().Format(time.RFC3339), string(wait.Reason))
	}
}

type waitJSON struct {
	Node   string    `json:"node"`
	Zone   string    `json:"zone"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

func (v *waitView) asJSON() (all []waitJSON) {
	for _, wait := range v.nodes {
		all = append(all, waitJSON{wait.Node, wait.Zone, string(wait.Reason), wait.Since})
	}
	return all
}
