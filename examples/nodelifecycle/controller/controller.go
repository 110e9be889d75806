package controller

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Controller is the reducer that the package comment describes. It is not
// safe for concurrent use; a timedqueue.Dispatcher is its lock.
//
// It is a whole of parts, each with its own data and queue. It tells them what
// happens, in one order, and applies what they say follows. A part calls only
// those before it in this order:
//
//	objects    the records of nodes and pods
//	silences   which nodes are silent; live reads and declarations
//	zones      how disrupted the zones are; the phase of the cluster
//	evictions  when pods leave, an eviction.Tracker
//	releases   which nodes may have their NoExecute taint
//	writes     what nodes need, and the writes that give it to them
//	marks      which pods have to be marked not ready
//	told       Events, and the nodes that wait
type Controller struct {
	view

	// unswept is how many nodes, the first ones in objects, have yet to be planned
	// again.
	unswept int
	// sweptFor is the generation of zones for which that began last.
	sweptFor int
}

// New returns a controller that knows nothing yet.
func New(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	config.Eviction.Holds = append(slices.Clone(config.Eviction.Holds), holds()...)
	c := &Controller{view: view{config: config, objects: newObjects()}}
	if err := c.addParts(now); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Controller) addParts(now time.Time) (err error) {
	config := c.config
	if c.silences, err = newSilences(config, c.objects, now); err != nil {
		return err
	}
	if c.zones, err = newZones(config.Zone, c.objects, c.silences, now); err != nil {
		return err
	}
	if c.evictions, err = eviction.NewTracker(config.Eviction, now); err != nil {
		return err
	}
	c.releases, err = newReleases(config, c.objects, c.silences, c.zones, c.evictions, now)
	if err != nil {
		return err
	}
	if c.writes, err = newWrites(config, c.silences, c.zones, c.releases, now); err != nil {
		return err
	}
	if c.marks, err = newMarks(config, c.objects, now); err != nil {
		return err
	}
	c.told, err = newTold(c.silences.health.Config().GracePeriod, now)
	return err
}

// mostVisited bounds the nodes that one Start visits for one purpose, so that
// no Start takes long.
const mostVisited = 1000

// MarkSynced says that all nodes, leases and pods that existed at the start
// have been observed. Nothing is evaluated and nothing handed out before. No
// node gets a NoExecute taint in the stabilization window that begins now.
func (c *Controller) MarkSynced(now time.Time) {
	c.objects.synced = true
	c.silences.health.MarkSynced()
	c.evictions.MarkSynced()
	c.zones.stabilize(now)
}

// Lead says that this replica begins to act, maybe after another. As after
// MarkSynced, a stabilization window begins.
func (c *Controller) Lead(now time.Time) {
	c.zones.stabilize(now)
}

// Answered says that the API server has just answered a write that was sent at
// a time, of the leader's lease for example, so that heartbeats of nodes would
// be heard; see nodehealth.Monitor. The writes of its own jobs need not be told.
func (c *Controller) Answered(now, sent time.Time) {
	c.hear(now, func() { c.silences.health.Answered(now, sent) })
}

// Unanswered says that such a write has failed; see nodehealth.Monitor.
func (c *Controller) Unanswered(now time.Time) { c.silences.health.Unanswered(now) }

// hear observes what may show that heartbeats can be heard. It reports whether
// they can again after a blindness, and that was not known.
func (c *Controller) hear(now time.Time, observe func()) (regained bool) {
	observe()
	if !c.silences.regains() {
		return false
	}
	c.obey(now, c.zones.unconfirm(now))
	return true
}

// ObserveNode takes a node as it is now: as the watch shows it, or as the API
// server has returned it. It is believed, whatever its version.
func (c *Controller) ObserveNode(now time.Time, object *corev1.Node) {
	c.evaluateLasting(now)
	n, known := c.objects.nodes[object.Name]
	if known && n.object.UID != object.UID {
		c.ForgetNode(now, object.Name)
		known = false
	}
	if !known {
		n = c.objects.addNode(object.Name)
		c.told.announce(nodeReference(object), corev1.EventTypeNormal, "RegisteredNode",
			"Node %s event: Registered Node %s in Controller", object.Name, object.Name)
	}
	c.setNode(now, n, object)
}

// setNode applies a node's newest version.
func (c *Controller) setNode(now time.Time, n *node, object *corev1.Node) {
	n.object, n.excluded = object, zone.Excluded(object)
	c.releases.setZone(now, n)
	// Whether its pods are marked at all may have changed with any change of it.
	if c.objects.setReady(now, n) || c.config.MarksPods != nil {
		c.marks.planNode(now, n)
	}
	c.hear(now, func() { c.silences.health.ObserveNode(now, object) })
	c.evictions.ObserveNode(now, object)
	c.holdTaintsOfReady(now, n)
	c.silences.noticeHeartbeat(now, n)
	c.follow(now, n, replans)
}

// ForgetNode drops a node that was deleted.
func (c *Controller) ForgetNode(now time.Time, name string) {
	c.evaluateLasting(now)
	n, known := c.objects.nodes[name]
	if !known {
		return
	}
	c.objects.removeNode(n)
	c.silences.forget(now, n)
	c.obey(now, c.zones.forget(now, n))
	c.evictions.ForgetNode(now, name)
	c.releases.forget(now, n)
	c.writes.forget(n)
	c.told.forget(n)
	c.told.announce(nodeReference(n.object), corev1.EventTypeNormal, "RemovingNode",
		"Node %s event: Removing Node %s from Controller", name, name)
}

// ObserveLease takes a lease of the namespace kube-node-lease. It reports
// whether Start or Next may have changed. The heartbeat of a healthy node makes
// nothing due earlier, and nearly all leases are that.
func (c *Controller) ObserveLease(now time.Time, lease *coordinationv1.Lease) (poll bool) {
	n, known := c.objects.nodes[lease.Name]
	var follows consequence
	regained := c.hear(now, func() { follows = c.silences.observeLease(now, n, lease) })
	if !known {
		return true
	}
	if regained {
		follows = max(follows, recounts) // alone it was heard since
	}
	c.follow(now, n, follows)
	return follows != unchanged
}

// ForgetLease drops a lease that was deleted.
func (c *Controller) ForgetLease(now time.Time, name string) {
	c.silences.health.ForgetLease(now, name)
}

// ObservePod takes a pod as it is now, like ObserveNode. A pod without a node is
// none of the controller's; one that had a node is back from a backup of the API
// server's store.
func (c *Controller) ObservePod(now time.Time, object *corev1.Pod) {
	if object.Spec.NodeName == "" {
		c.ForgetPod(now, PodID(object))
		return
	}
	p, known := c.objects.pods[PodID(object)]
	if known && p.object.Spec.NodeName != object.Spec.NodeName {
		c.ForgetPod(now, PodID(object)) // without a UID: it is another pod
		known = false
	}
	if !known {
		p = c.objects.addPod(object)
	}
	p.object = object
	c.evictions.ObservePod(now, object)
	c.marks.plan(now, p)
}

// ForgetPod drops a pod that was deleted. The id is that of [PodID].
func (c *Controller) ForgetPod(now time.Time, id types.UID) {
	if p, known := c.objects.pods[id]; known {
		c.objects.removePod(p)
		c.marks.forget(id)
		c.evictions.ForgetPod(now, id)
	}
}

// Halt holds all evictions and all NoExecute taints at once, until Resume. With
// it an operator stops the controller without ending it. A call that is under
// way is not taken back, and nothing follows it. All else goes on: nodes are
// declared Unknown and tainted NoSchedule, their pods are marked not ready,
// what recovers loses its taints, and deadlines pass. A second Halt changes
// nothing.
func (c *Controller) Halt(now time.Time) { c.evictions.SetHold(now, HoldHalt, "", true) }

// Resume ends what Halt began. Nodes that wait are tainted at the rates of
// their zones, and pods that became due meanwhile leave in the order of their
// deadlines. Nothing was lost, so no deadline begins again.
func (c *Controller) Resume(now time.Time) { c.evictions.SetHold(now, HoldHalt, "", false) }

// Idle is for a replica that does not lead. It evaluates the zones, so as to
// know their history when it leads, and keeps no Events. It reports whether
// there is more to do at once: nodes are planned again a slice at a time.
func (c *Controller) Idle(now time.Time) (more bool) {
	if c.objects.synced {
		c.evaluateZones(now)
		c.told.noteDoubts(now, c.doubtFacts(now))
		c.sweep(now)
		more = c.unswept > 0
	}
	c.told.drop()
	return more
}

// prepare applies what time and answers have changed, before anything is handed
// out. It reports whether it has left something for the next Start: until that
// is done nothing is handed out, because that may depend on it.
func (c *Controller) prepare(now time.Time) (more bool) {
	if c.collect(now) || c.compare(now) {
		return true
	}
	c.evaluateZones(now)
	c.sweep(now)
	c.told.noteDoubts(now, c.doubtFacts(now))
	return false
}

// nextPreparation returns when time alone next changes something.
func (c *Controller) nextPreparation(now time.Time) (time.Time, bool) {
	if c.silences.reads.list == listed || c.unswept > 0 {
		return now, true
	}
	next, ok := c.zones.tracker.Next(now)
	if at, waits := c.silences.nextSight(now); waits && (!ok || at.Before(next)) {
		next, ok = at, true
	}
	if at, tells := c.told.nextDoubt(); tells && (!ok || at.Before(next)) {
		next, ok = at, true
	}
	return next, ok
}

// collect takes the nodes whose grace period has ended since, and reports
// whether it has left some for the next Start.
func (c *Controller) collect(now time.Time) (more bool) {
	for visits := mostVisited; visits > 0; {
		n, follows := c.silences.collect(now, &visits)
		if n == nil {
			return visits == 0
		}
		if n.silence != nil {
			c.told.watch(now, n)
		}
		c.follow(now, n, follows)
	}
	return true
}

// compare decides about the suspects by the last list of leases, and reports
// whether it has left some for the next Start.
func (c *Controller) compare(now time.Time) (more bool) {
	for visits := mostVisited; visits > 0; {
		n, follows := c.silences.compare(now, &visits)
		if n == nil {
			return visits == 0
		}
		c.follow(now, n, follows)
	}
	return true
}

// evaluateZones applies the states that the zones are in now.
func (c *Controller) evaluateZones(now time.Time) {
	changes, obeysOther := c.zones.evaluate(now)
	c.releases.setRates(now, changes)
	c.obey(now, obeysOther)
}

// evaluateLasting evaluates the zones before they change, if they have been as
// they are for a while. Start is not called while all workers are busy. With an
// API server that does not answer, that can be long enough for an outage of all
// zones to come and go. A shorter state does not count: a list may show a dead
// cluster between its first node and its last.
func (c *Controller) evaluateLasting(now time.Time) {
	if c.objects.synced && c.zones.lasting(now) {
		c.evaluateZones(now)
	}
}

// obey applies that our taints obey another phase, if they do.
func (c *Controller) obey(now time.Time, other bool) {
	if !other {
		return
	}
	c.evictions.SetHold(now, HoldZones, "", c.zones.phase.suspendsTaints())
	if c.sweptFor != c.zones.generation {
		c.sweptFor = c.zones.generation
		c.Reevaluate() // other taints are wanted now
	}
}

// Reevaluate has all nodes planned again by the next calls of Start, as if all
// had changed, except those that are steady. It repairs what a fault of this
// package has left wrong; nothing else depends on it.
func (c *Controller) Reevaluate() {
	c.unswept = len(c.objects.ordered)
}

// sweep goes on to plan all nodes again. It goes from the last node to the
// first: if one is forgotten, only the last one moves.
func (c *Controller) sweep(now time.Time) {
	c.unswept = min(c.unswept, len(c.objects.ordered))
	for visited := 0; c.unswept > 0 && visited < mostVisited; {
		c.unswept--
		visited++
		if n := c.objects.ordered[c.unswept]; !c.writes.isPlanned(n) {
			c.replan(now, n)
			visited += c.marks.planNode(now, n)
		}
	}
}

// follow applies what follows for a node from what became of its silence.
func (c *Controller) follow(now time.Time, n *node, follows consequence) {
	if follows >= recounts {
		c.obey(now, c.zones.count(now, n))
	}
	if follows == replans {
		c.replan(now, n)
	}
}

// plan finds out what a node needs, unless that is known. A node that has
// changed itself is planned by replan.
func (c *Controller) plan(now time.Time, n *node) {
	if !c.writes.isPlanned(n) {
		c.replan(now, n)
	}
}

// replan finds out what a node needs. It is called once for each time that the
// node is observed, and for all nodes when other taints are wanted.
func (c *Controller) replan(now time.Time, n *node) {
	c.writes.unsettle(n)
	c.releases.plan(now, n)
	if n.notReady() && !c.releases.isActedOn(n) {
		c.told.watch(now, n)
	}
	c.writes.plan(now, n)
}

// holdTaintsOfReady keeps the pods of a node that reports that it is ready
// from leaving for our taints. Those are about to go: with the next write, or
// after a start with the first heartbeat. A deadline that passes before that
// must not make pods leave a living node, for example one that came back while
// no replica led. One that died after its report is found silent, and its pods
// leave then. In its recovery period a node has its taints on purpose, and they
// act.
func (c *Controller) holdTaintsOfReady(now time.Time, n *node) {
	held := hasNoExecute(n.object.Spec.Taints) && n.ready == corev1.ConditionTrue &&
		!c.silences.recovering(n)
	c.evictions.SetHold(now, HoldReady, n.object.Name, held)
}

// noteAnswer is called with the result of each write before that is taken. If
// the API server has stored something then heartbeats would be heard, too.
func (c *Controller) noteAnswer(now, sent time.Time, stored bool) {
	if stored {
		c.Answered(now, sent)
	}
	c.evaluateLasting(now)
}

// Jobs returns what the controller hands out: Events first, then all else under
// the budget of requests. It must be called once. Now must not be the zero
// time.
func (c *Controller) Jobs(
	actions Actions, now time.Time,
) (timedqueue.Source[timedqueue.Job], error) {
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig{
		Limit: c.config.Requests.PerSecond,
		Burst: c.config.Requests.Burst,
		Kinds: c.kinds(actions),
	}, now)
	if err != nil {
		return nil, err
	}
	return turns{c, timedqueue.InOrder(
		timedqueue.Jobs(recorder{c}, actions.Record),
		timedqueue.Jobs(teller{recorder{c}}, actions.Record),
		requests,
	)}, nil
}

// kinds are the kinds of work that divide the budget of requests. What says
// that a node is not ready comes before what follows from it.
func (c *Controller) kinds(actions Actions) []timedqueue.Kind {
	return []timedqueue.Kind{{
		Name: "declarations", Reserved: declarationsPart,
		Source: timedqueue.InOrder(
			timedqueue.Jobs(reader{c}, actions.ReadLeases),
			timedqueue.Jobs(declarer{c}, actions.Declare),
		),
	}, {
		Name: "recoveries", Reserved: 0.25,
		Source: timedqueue.Jobs(recoverer{writer{c}}, actions.ChangeNode),
	}, {
		Name: "evictions", Reserved: 0.25, Cost: c.config.Requests.Eviction,
		Source: timedqueue.Jobs(evictor{c}, actions.Evict),
	}, {
		Name: "other writes", Reserved: 0.25,
		// The one of the two that handles many pods must not starve the other.
		Source: timedqueue.RoundRobin(
			timedqueue.Jobs(otherWriter{writer{c}}, actions.ChangeNode),
			timedqueue.Jobs(marker{c}, actions.MarkPod),
		),
	}}
}
