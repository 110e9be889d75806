package controller

import "time"

// ObserveDate takes the API server's time of day from its answer to a request
// that was sent at a time; see eviction.Tracker.ObserveDate. Grace periods,
// rates and backoffs do not depend on the time of day. The timeout of
// EvictionModeNode does: the nodes are planned again when it has moved.
func (c *Controller) ObserveDate(now, sent, date time.Time) {
	if c.evictions.ObserveDate(now, sent, date) {
		c.Reevaluate()
	}
}

// NodesCurrent says that the watch of nodes has delivered something; see
// eviction.Tracker.NodesCurrent.
func (c *Controller) NodesCurrent(now time.Time) { c.evictions.NodesCurrent(now) }

// PodsCurrent says that the watch of pods has delivered something; see
// eviction.Tracker.PodsCurrent.
func (c *Controller) PodsCurrent(now time.Time) { c.evictions.PodsCurrent(now) }
