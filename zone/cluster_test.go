package zone_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

var epoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so long after the test's first moment.
func after(d time.Duration) time.Time { return epoch.Add(d) }

// cluster is a tracker with a test's clock.
type cluster struct {
	*zone.Tracker[string]
	now time.Time
}

// newCluster returns a cluster that has just started, in PhaseRecovering.
func newCluster(t testing.TB, config zone.Config) *cluster {
	t.Helper()
	tracker, err := zone.NewTracker[string](config, epoch)
	require.NoError(t, err)
	return &cluster{tracker, epoch}
}

// newActiveCluster returns a cluster without nodes in PhaseActive.
func newActiveCluster(t testing.TB, config zone.Config) *cluster {
	t.Helper()
	c := newCluster(t, config)
	end, _ := c.Next(c.now)
	c.now = end
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseRecovering},
		c.evaluate())
	return c
}

func (c *cluster) pass(d time.Duration) { c.now = c.now.Add(d) }

func (c *cluster) ready(zoneName string, nodes ...string) {
	for _, node := range nodes {
		c.Observe(c.now, node, zone.Node{Zone: zoneName, Ready: true})
	}
}

func (c *cluster) notReady(zoneName string, nodes ...string) {
	for _, node := range nodes {
		c.Observe(c.now, node, zone.Node{Zone: zoneName})
	}
}

func (c *cluster) forget(nodes ...string) {
	for _, node := range nodes {
		c.Forget(c.now, node)
	}
}

func (c *cluster) evaluate() zone.Evaluation { return c.Evaluate(c.now) }

// status returns a zone, which has to exist.
func (c *cluster) status(t testing.TB, name string) zone.Status {
	t.Helper()
	for _, status := range c.Zones() {
		if status.Zone == name {
			return status
		}
	}
	t.Fatalf("no zone %q in %v", name, c.Zones())
	return zone.Status{}
}

// rates returns the rates of all zones.
func (c *cluster) rates() map[string]float64 {
	rates := map[string]float64{}
	for _, status := range c.Zones() {
		rates[status.Zone] = status.Rate
	}
	return rates
}

// names are n names of nodes: prefix0, prefix1 and so on.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

const (
	grace    = 50 * time.Second // the defaults
	interval = 11 * time.Second
)
