package failover

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Core decides what happens to clusters and bindings. It has no clock and no
// goroutine, and is not safe for concurrent use. Its Jobs are for a
// timedqueue.Dispatcher, which is its lock.
type Core struct {
	monitor *nodehealth.Monitor[string]
	regions *zone.Tracker[string]
	marks   *timedqueue.Queue[string, mark]
	moves   *eviction.Tracker

	clusters    map[string]*federation.Cluster               // as last observed
	bindings    map[types.NamespacedName]*federation.Binding // as last observed
	placements  map[types.UID]*placement                     // see idOf
	load        map[string]int                               // bindings on a cluster
	blindnesses uint32                                       // that have ended, as followed last
	leads       bool
}

// NewCore returns a core that knows no object. Now must not be the zero time.
func NewCore(config Config, now time.Time) (*Core, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	config = config.withDefaults()
	c := &Core{
		clusters:   make(map[string]*federation.Cluster),
		bindings:   make(map[types.NamespacedName]*federation.Binding),
		placements: make(map[types.UID]*placement), load: make(map[string]int),
	}
	var err error
	if c.monitor, err = nodehealth.NewMonitor[string](config.health(), now); err != nil {
		return nil, err
	}
	if c.regions, err = zone.NewTracker[string](config.regions(), now); err != nil {
		return nil, err
	}
	if c.marks, err = timedqueue.NewQueue(config.marks(), now); err != nil {
		return nil, err
	}
	if c.moves, err = eviction.NewTracker(config.moves(), now); err != nil {
		return nil, err
	}
	c.marks.SetLimit(now, byRegion, unlimited, rate.Inf)
	c.moves.SetHold(now, holdRegions, "", true) // until they are judged
	return c, nil
}

// whileHearing returns a source that hands out nothing while no cluster could
// be heard, nor before each had time to be heard again.
func (c *Core) whileHearing(
	jobs timedqueue.Source[timedqueue.Job],
) timedqueue.Source[timedqueue.Job] {
	return timedqueue.SourceOf(
		func(now time.Time) (timedqueue.Job, bool) {
			if !c.monitor.Sight(now).Counts() {
				return timedqueue.Job{}, false
			}
			return jobs.Start(now)
		},
		func(now time.Time) (time.Time, bool) {
			at, ok := jobs.Next(now)
			sight := c.monitor.Sight(now)
			if sight.CountsFrom.After(at) {
				at = sight.CountsFrom
			}
			return at, ok && !sight.Blind
		})
}

// ObserveCluster takes a cluster as it is now. It must not be changed
// afterwards.
func (c *Core) ObserveCluster(now time.Time, observed *federation.Cluster) {
	before, known := c.clusters[observed.Name]
	switch {
	case known && before.UID != observed.UID:
		c.ForgetCluster(now, observed.Name)
	case known && !before.Status.LastHeartbeatTime.Equal(observed.Status.LastHeartbeatTime):
		c.monitor.Heartbeat(now, observed.Name)
		c.followSight(now)
	}
	c.clusters[observed.Name] = observed
	c.monitor.Observe(now, observed.Name, nodehealth.Observation{
		Reported: observed.Status.LastHeartbeatTime != nil, Silent: readyIs(observed, metav1.ConditionUnknown),
	})
	c.moves.ObserveTaints(now, observed.Name, observed.UID, observed.Spec.Taints)
	c.assess(now, observed)
}

// ForgetCluster drops a cluster that was deleted.
func (c *Core) ForgetCluster(now time.Time, name string) {
	delete(c.clusters, name)
	c.monitor.Forget(now, name)
	c.regions.Forget(now, name)
	c.marks.Remove(name)
	c.moves.ForgetNode(now, name)
}

// Lead begins to hand out jobs. All objects that exist have been observed. The
// taint of silent clusters moves no binding for another grace period, in which
// they may be heard.
func (c *Core) Lead(now time.Time) {
	c.leads = true
	c.moves.MarkSynced()
	c.regions.Stabilize(now)
}

// Answered says that the API server has answered a write that was sent at a
// time, so that heartbeats can be heard; see nodehealth.Monitor.Answered.
func (c *Core) Answered(now, sent time.Time) {
	c.monitor.Answered(now, sent)
	c.followSight(now)
}

// followSight takes that heartbeats are heard again. What was ready before may
// not be any more.
func (c *Core) followSight(now time.Time) {
	if ended := c.monitor.Blindnesses(); ended != c.blindnesses {
		c.blindnesses = ended
		c.regions.Unconfirm(now, c.monitor.Sight(now).LostAt)
	}
}

// assess follows up a change of a cluster, or of whether it is silent.
func (c *Core) assess(now time.Time, r *federation.Cluster) {
	silent := c.monitor.Silent(r.Name)
	certain := c.monitor.HeardSinceBlindness(r.Name)
	if silent {
		certain = c.recorded(r)
	}
	notReady := readyIs(r, metav1.ConditionFalse)
	c.regions.Observe(now, r.Name, zone.Node{
		Zone: r.Spec.Region, Ready: !silent && !notReady, Unconfirmed: !certain,
	})
	c.moves.SetHold(now, holdHeard, r.Name, !silent)
	c.moves.SetHold(now, holdReady, r.Name, !notReady)
	c.mark(now, r)
}

// recorded reports whether a cluster is silent and the API server has that.
func (c *Core) recorded(r *federation.Cluster) bool {
	return c.monitor.Silent(r.Name) && readyIs(r, metav1.ConditionUnknown)
}

// evaluate judges the regions. It hands out no job.
func (c *Core) evaluate(now time.Time) (timedqueue.Job, bool) {
	found := c.regions.Evaluate(now)
	for _, change := range found.Changes {
		c.marks.SetLimit(now, byRegion, shareOf("", mark{adds: true, region: change.Zone}), rate.Limit(change.Rate))
	}
	for _, gone := range found.Gone {
		c.marks.RemoveShare(now, byRegion, shareOf("", mark{adds: true, region: gone}))
	}
	if found.Phase != found.From {
		c.moves.SetHold(now, holdRegions, "", found.Phase != zone.PhaseActive)
		c.markAll(now)
	}
	return timedqueue.Job{}, false
}

// Silent returns how many clusters are silent.
func (c *Core) Silent() int {
	n := 0
	for name := range c.clusters {
		if c.monitor.Silent(name) {
			n++
		}
	}
	return n
}
