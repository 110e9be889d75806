package simulation

import (
	"time"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// calm follows since when a controller can act.
type calm struct {
	model.Unimpressed

	simulation *Simulation
	faults     int // that keep a controller from acting
	acting     *network.Client
	since      time.Duration
}

func (c *calm) now() bool { return c.faults == 0 && c.acting != nil }

// Noted looks which process acts whenever something has happened to one.
func (c *calm) Noted(network.Note) {
	var acting *network.Client
	if r := c.simulation.Acting(); r != nil {
		acting = r.Client()
	}
	if acting != c.acting {
		c.acting = acting
		c.since = c.simulation.world.Elapsed()
	}
}

// disturb notes a fault that keeps a controller from acting, until settled is
// called.
func (c *calm) disturb() (settled func()) {
	c.faults++
	return func() {
		c.faults--
		c.since = c.simulation.world.Elapsed()
	}
}
