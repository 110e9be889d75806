package main

import (
	"slices"
	"sync"

	"github.com/kubelife/lifecycle/zone"
)

// A zoneCounter counts by zone, in bounded memory: a node that changes its zone
// again and again would otherwise add a label value each time.
//
// A zone keeps its count while it exists, so that its series never goes
// backwards. Of the zones that had no node when they were last read, the 64
// that counted last keep theirs. The others are dropped: their series end, and
// one of them that gets nodes again begins at zero, which Prometheus takes for
// a restart.
type zoneCounter struct {
	mu     sync.Mutex
	counts map[string]*zoneCount
	exist  map[string]bool // when they were last read
	gone   int             // zones with a count that did not exist then
	turn   int             // how often something was counted
}

type zoneCount struct {
	nodes float64
	turn  int // in which it counted last
}

// goneZones is how many zones that do not exist keep their counts.
const goneZones = 64

func newZoneCounter() *zoneCounter {
	return &zoneCounter{counts: make(map[string]*zoneCount)}
}

func (c *zoneCounter) inc(zone string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count, known := c.counts[zone]
	if !known {
		count = new(zoneCount)
		c.counts[zone] = count
		if !c.exist[zone] {
			c.gone++
		}
	}
	c.turn++
	count.nodes, count.turn = count.nodes+1, c.turn
	c.drop()
}

// drop drops the gone zones beyond those that counted last.
func (c *zoneCounter) drop() {
	if c.gone <= goneZones {
		return
	}
	var gone []string
	for name := range c.counts {
		if !c.exist[name] {
			gone = append(gone, name)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return c.counts[a].turn - c.counts[b].turn })
	for _, name := range gone[:len(gone)-goneZones] {
		delete(c.counts, name)
	}
	c.gone = goneZones
}

// of returns the counts, given the zones that exist. That of a zone in which
// nothing was counted yet is 0, as in kube-controller-manager: a rate over it
// sees the first one. Such a zone is shown while it exists.
func (c *zoneCounter) of(zones []zone.Status) map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exist = make(map[string]bool, len(zones))
	all := make(map[string]float64, len(zones))
	for _, z := range zones {
		c.exist[z.Zone] = true
		all[z.Zone] = 0
	}
	c.gone = 0
	for name := range c.counts {
		if !c.exist[name] {
			c.gone++
		}
	}
	c.drop()
	for name, count := range c.counts {
		all[name] = count.nodes
	}
	return all
}
