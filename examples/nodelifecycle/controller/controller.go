package controller

import (
	"fmt"
	"iter"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Controller is the reducer that the package comment describes. It is not safe
// for concurrent use; it is a timedqueue.Core, and a timedqueue.Dispatcher is
// its lock.
type Controller struct {
	config Config
	nodes  map[string]*node
	// roll is all nodes, to go through them in the same order each time.
	roll   []*node
	pods   map[types.UID]*pod
	podsOn map[string][]*pod // by node name, also of nodes that are not known
	// episodes counts the times that the readiness of some node has changed.
	episodes int

	health    *nodehealth.Monitor
	zones     *zone.Tracker[string]
	evictions *eviction.Tracker

	// releases holds the nodes that are to get a NoExecute taint, a queue a zone.
	releases *timedqueue.Group[string, string, struct{}]
	// nodeLooks and podLooks hold what may need a write. What it needs is decided
	// when it is taken out.
	nodeLooks *timedqueue.Queue[string, struct{}]
	podLooks  *timedqueue.Queue[types.UID, struct{}]
	// writing is the names of the nodes of which a write that a look has found is under
	// way. They are not looked at before it is over, not even if they are others by now.
	writing map[string]struct{}

	records []Record
	synced  bool
	// unjudged says that the zones have changed since they were judged, the last time
	// at soiled.
	unjudged bool
	soiled   time.Time
	// lifted says that our NoExecute taints are taken back: from the moment in
	// which every zone is disrupted until nodes may be acted against again.
	lifted bool
	// actsSince is when acting began again after that.
	actsSince time.Time
	// standing is how many nodes that count in their zones are ready, in all zones.
	// Braced says that there was none, and that this has not been judged yet.
	standing  int
	braced    bool
	podsFirst bool // whose turn it is when pods and evictions both wait
}

var _ timedqueue.Core[Action, Result] = (*Controller)(nil)

// New returns a controller that knows nothing yet.
func New(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c := &Controller{
		config: config,
		nodes:  make(map[string]*node),
		pods:   make(map[types.UID]*pod),
		podsOn: make(map[string][]*pod),

		writing: make(map[string]struct{}),
	}
	var err error
	if c.health, err = nodehealth.NewMonitor(config.Health, now); err != nil {
		return nil, err
	}
	if c.zones, err = zone.New[string](config.Zone, now); err != nil {
		return nil, err
	}
	if c.evictions, err = eviction.NewTracker(config.Eviction, now); err != nil {
		return nil, err
	}
	if c.releases, err = timedqueue.NewGroup[string, string, struct{}](timedqueue.Config{Backoff: config.Retry}, now); err != nil {
		return nil, err
	}
	unlimited := timedqueue.Config{Limit: rate.Inf, Backoff: config.Retry}
	if c.nodeLooks, err = timedqueue.New[string, struct{}](unlimited, now); err != nil {
		return nil, err
	}
	if c.podLooks, err = timedqueue.New[types.UID, struct{}](unlimited, now); err != nil {
		return nil, err
	}
	return c, nil
}

// Synced says that all nodes, leases and pods that existed at the start have
// been observed. Nothing is judged and nothing handed out before.
func (c *Controller) Synced() {
	c.synced = true
	c.health.Synced()
	c.evictions.Synced()
}

// Start hands out one action to perform now.
func (c *Controller) Start(now time.Time) (Action, bool) {
	if !c.synced {
		return nil, false
	}
	c.judge(now)
	for _, next := range c.order() {
		if action, ok := next(now); ok {
			return action, true
		}
	}
	return nil, false
}

// order returns where to look for actions. What says that a node is ill comes
// before what follows from it, and whoever handles many pods takes turns.
func (c *Controller) order() [5]func(time.Time) (Action, bool) {
	c.podsFirst = !c.podsFirst
	if c.podsFirst {
		return [...]func(time.Time) (Action, bool){c.record, c.declare, c.lookAtNode, c.lookAtPod, c.evict}
	}
	return [...]func(time.Time) (Action, bool){c.record, c.declare, c.lookAtNode, c.evict, c.lookAtPod}
}

// Next returns when Start can next hand something out.
func (c *Controller) Next(now time.Time) (time.Time, bool) {
	if !c.synced {
		return time.Time{}, false
	}
	if len(c.records) > 0 {
		return now, true
	}
	var earliest time.Time
	found := false
	consider := func(at time.Time, ok bool) {
		if ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	consider(c.health.Next(now))
	consider(c.zones.Next())
	consider(c.releases.Next(now))
	consider(c.nodeLooks.Next(now))
	consider(c.podLooks.Next(now))
	consider(c.evictions.Next(now))
	return earliest, found
}

// Finish takes what came of an action.
func (c *Controller) Finish(now time.Time, action Action, result Result) {
	c.judgeWhatStood(now)
	switch action := action.(type) {
	case DeclareUnknown:
		c.declared(now, action, result)
	case PatchTaints:
		c.tainted(now, action, result)
	case PatchLabels:
		c.adoptNode(now, result.Node)
		c.finishLook(now, action.look, result.Err)
	case MarkPodNotReady:
		c.marked(now, action, result)
	case Evict:
		c.evicted(now, action, result)
	case Record:
	}
}

// Idle is for a replica that does not lead: it judges the zones, so as to know
// when it leads what has been, and keeps nothing to tell.
func (c *Controller) Idle(now time.Time) {
	if c.synced {
		c.judge(now)
	}
	c.records = nil
}

// Reevaluate looks at everything again, as if all had changed. Nothing depends
// on it but the hope that what should never happen gets mended when it does. It
// costs a look at every node.
func (c *Controller) Reevaluate(now time.Time) {
	for _, n := range c.roll {
		c.place(now, n)
		c.lookAtPods(now, n)
	}
}

// Zones returns the zones as they were last judged, by name.
func (c *Controller) Zones() []zone.Status { return c.zones.Zones() }

// Phase returns what the cluster as a whole allows.
func (c *Controller) Phase() zone.Phase { return c.zones.Phase() }

// Queued returns how many nodes of a zone wait for their NoExecute taint.
func (c *Controller) Queued(zone string) int { return c.releases.LenOf(zone) }

// Waiting returns how many pods wait to be evicted, now or later.
func (c *Controller) Waiting() int { return c.evictions.Waiting() }

// Pending goes through them; see eviction.Tracker.
func (c *Controller) Pending() iter.Seq[eviction.Pending] { return c.evictions.Pending() }

// Len returns how many nodes and pods the controller knows.
func (c *Controller) Len() (nodes, pods int) { return len(c.nodes), len(c.pods) }

// judgeWhatStood judges the zones before they change, if they have been for a while
// as they are. Start is not asked while all workers are busy, and with an API server
// that does not answer that can be long enough for an outage of all zones to come
// and go. What was seen only for a moment does not count: a list may show a dead
// cluster between its first node and its last.
func (c *Controller) judgeWhatStood(now time.Time) {
	if c.synced && c.unjudged && now.Sub(c.soiled) >= stood {
		c.judge(now)
	}
}

// stood is for how long.
const stood = time.Second

// stand takes note of how many more nodes are ready. When it is none that is most
// likely an outage of all zones, and evictions that are under way stop here: all workers
// may be busy with them, and while they are nobody asks what to do next and the zones
// are not judged. Where a judgement finds no outage, they go on.
func (c *Controller) stand(now time.Time, more int) {
	fell := more < 0 && c.standing+more == 0
	c.standing += more
	if !fell || !c.synced || c.lifted {
		return
	}
	c.braced = true
	c.evictions.Hold(now, taints.OwnsNoExecute)
}

// standing is 1 for a node that counts and is ready, else 0.
func standing(n zone.Node) int {
	if n.Ready && !n.Excluded {
		return 1
	}
	return 0
}

// judge applies what the zones have come to.
func (c *Controller) judge(now time.Time) {
	c.unjudged = false
	judgement := c.zones.Judge(now)
	for _, change := range judgement.Changes {
		c.releases.SetLimit(now, change.Zone, rate.Limit(change.Rate))
	}
	for _, gone := range judgement.Gone {
		c.releases.Retire(gone)
	}
	if c.braced && judgement.Phase != zone.Suspended {
		c.evictions.Hold(now, nil)
	}
	c.braced = false
	if judgement.Phase == judgement.From {
		return
	}
	switch judgement.Phase {
	case zone.Suspended:
		// The taints go. Until the last one is gone, what they have started is held.
		c.lifted = true
		c.evictions.Hold(now, taints.OwnsNoExecute)
		for _, n := range c.roll {
			c.spare(now, n)
		}
		c.Reevaluate(now)
	case zone.Acting:
		if c.lifted {
			c.lifted, c.actsSince = false, now
		}
		c.evictions.Hold(now, nil)
		c.Reevaluate(now)
	case zone.Settling:
	}
}

func (c *Controller) record(time.Time) (Action, bool) {
	if len(c.records) == 0 {
		return nil, false
	}
	first := c.records[0]
	c.records = c.records[1:]
	return first, true
}

func (c *Controller) tell(object corev1.ObjectReference, kind, reason, format string, args ...any) {
	c.records = append(c.records, Record{object, kind, reason, fmt.Sprintf(format, args...)})
}
