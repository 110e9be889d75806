package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// view is what one client has been shown, by its watches and by the answers to
// its writes: all that it can know.
type view struct {
	judge  *Judge
	client *network.Client

	started, syncedAt   time.Duration
	synced, leads       bool
	pausedAt, resumedAt time.Duration

	nodes map[string]*seenNode
	zones map[zoneKey]*seenZone
	// census counts the nodes by zone. What all of them being down means is in
	// forbids and excuses.
	census           census
	forbids, excuses disruption
	// lower says that some zone's rate is to be lower as soon as the client is
	// free. It is when a call is answered, at freeAt, and no other follows in the
	// same moment. A client that reads before it writes is not free in between.
	lower  bool
	freeAt time.Duration
	// heardAt is when it has heard a heartbeat, or was answered a write, and
	// unansweredUntil when it had not for as long as makes a client blind.
	heardAt, unansweredUntil time.Duration
	// lock is the leader's lease as it has read or written it last, and lockAt when
	// it has read it.
	lock   network.Lock
	lockAt time.Duration
	// raisesAt is when every client raises the rate of a zone whose disruption has
	// ended, -1 for none.
	raisesAt time.Duration
	// listenedAt is when all nodes were looked at last.
	listenedAt time.Duration
	// dirty says that nodes have changed since the zones were judged, at dirtyAt.
	dirty   bool
	dirtyAt time.Duration

	// boundPods counts those that it sees on nodes.
	boundPods int
	// stays is from when it counts the stays of pods that it saw come. retolerated
	// are those whose tolerations it saw change, and when.
	stays, retolerated map[types.UID]time.Duration
	// ownPods are the versions of pods that it was answered.
	ownPods map[string]uint64
	// refused are the objects of which its last patch was refused, and that it has
	// not read since.
	refused map[target]bool
	// deleted is when it was answered to have deleted a pod. confirmed are those
	// that it has read before it writes, with what it knew when it decided.
	deleted   map[types.UID]time.Duration
	confirmed map[types.UID]*confirmation
	// arrivals is when it saw pods on their nodes, with Settings.ByNode.
	arrivals map[types.UID]time.Duration
	// shares are those of the budgets. Attempts to make pods leave that are under
	// way may have begun then.
	shares   map[shareKey]*share
	attempts map[types.UID]*open
	emptyAt  time.Duration
	// served is when the pod had to leave that had to last, of all that it has
	// told to because of taints.
	served time.Duration

	// halt is what the leader's lease says by what it was shown.
	halt halt

	// calls are its calls, by what they are for. UnderWay counts those that are,
	// and busy is when it last had as many as it may. Stretches are the seconds in
	// which it had.
	calls     [kindsOfWork]tally
	underWay  int
	busy      time.Duration
	stretches tally
}

// seenNode is all nodes of a name, as a client has seen them.
type seenNode struct {
	name    string
	object  *corev1.Node // nil while it sees none
	version uint64
	// written is the version of its own last write, at ownAt; own says that it
	// counts more than an older one from the watch.
	written uint64
	own     bool
	ownAt   time.Duration
	citizen citizen
	zone    *seenZone
	// heardLast is when the client has heard it last, or seen it first.
	heardLast time.Duration
	// readLease is the version of its lease that a live read has shown last.
	readLease string
	// movedAt is when it came to its zone, from formerZone.
	movedAt    time.Duration
	formerZone *seenZone
	// reportedAt is since when anybody says whether it is ready. A newcomer, for
	// which no client did at first, counts as not ready from its creation on, but
	// waits for nothing.
	reportedAt time.Duration
	// fell is since when it is not ready, if it has fallen, in the zone fellIn.
	// Waits says that it is to get our NoExecute taint, since waitsFrom.
	fell, waitsFrom      time.Duration
	fellIn               *seenZone
	fallen, vague, waits bool
	// guessed says that the client may have found it silent later than it fell.
	guessed bool
	// latest is the version that it sees, since latestAt; former is the one
	// before.
	latest, former *nodeVersion
	latestAt       time.Duration
	taints         []seenTaint
	// beats is how often its machine had beaten when it was first seen. heardAt is
	// when it was found to have beaten since.
	beats   int
	heard   bool
	heardAt time.Duration
	// calls about the node that are under way; when the last one was over, and the
	// last one failed.
	calls            int
	doneAt, failedAt time.Duration
	// lease is what the last live read of its lease has shown.
	lease   leaseRead
	illness illnessSeen
}

// leaseRead is an answer about a lease that was not acted on yet.
type leaseRead struct {
	at   time.Duration // when it was answered
	beat time.Duration // the last heartbeat that it could show
	ok   bool
}

// seenTaint is a NoExecute taint and the latest time from which a client counts
// it.
type seenTaint struct {
	key     string
	dated   bool
	added   time.Duration
	started time.Duration
}

func (n *seenNode) newcomer() bool { return n.reportedAt > n.fell }

func (n *seenNode) taint(key string) *seenTaint {
	if n == nil {
		return nil
	}
	for i := range n.taints {
		if n.taints[i].key == key {
			return &n.taints[i]
		}
	}
	return nil
}

// view returns a client's view. Of a client that nothing was heard of before it
// begins now.
func (j *Judge) view(client *network.Client) *view {
	for _, v := range j.views {
		if v.client == client {
			return v
		}
	}
	v := &view{
		judge:       j,
		client:      client,
		nodes:       make(map[string]*seenNode),
		zones:       make(map[zoneKey]*seenZone),
		stays:       make(map[types.UID]time.Duration),
		retolerated: make(map[types.UID]time.Duration),
		ownPods:     make(map[string]uint64),
		refused:     make(map[target]bool),
		deleted:     make(map[types.UID]time.Duration),
		confirmed:   make(map[types.UID]*confirmation),
		arrivals:    make(map[types.UID]time.Duration),
		shares:      make(map[shareKey]*share),
		attempts:    make(map[types.UID]*open),
		busy:        -1,
		raisesAt:    -1,
		served:      -never,
	}
	v.census = newCensus()
	v.start(j.world.Elapsed())
	j.views = append(j.views, v)
	return v
}

func (j *Judge) dropView(client *network.Client) {
	j.views = slices.DeleteFunc(j.views, func(v *view) bool { return v.client == client })
}

// start begins the client's time.
func (v *view) start(now time.Duration) {
	v.started = now
	for _, d := range v.disruptions() {
		d.settle(now, v.judge.settings.Window)
	}
}

// sync is when its first lists are in: it judges from now on, and what it has
// not seen yet is new.
func (v *view) sync(now time.Duration) {
	v.synced, v.syncedAt = true, now
	v.stabilize(now)
	v.soil(now)
	for _, n := range v.nodes {
		n.beats = v.beats(n.name)
	}
}

func (v *view) beats(node string) int {
	if m := v.judge.world.Machine(node); m != nil {
		return m.Beats
	}
	return 0
}

// decidedAfter returns the earliest time at which a call that is sent now may
// have been decided. Calls wait for the client's rate, and while it stands
// still.
func (v *view) decidedAfter(now time.Duration) time.Duration {
	waits := v.judge.settings.queueing()
	if v.resumedAt > 0 && v.resumedAt >= now-waits {
		return v.pausedAt - waits
	}
	return now - waits
}

// sawNode takes what a watch has shown.
func (v *view) sawNode(object *corev1.Node) {
	now := v.judge.world.Elapsed()
	n := v.nodes[object.Name]
	if n == nil {
		n = &seenNode{name: object.Name, failedAt: -1, doneAt: -1, movedAt: -1}
		v.nodes[n.name] = n
	}
	seen := version(object.ResourceVersion)
	if n.object != nil && n.object.UID == object.UID && n.own && seen < n.written && now < n.ownAt+ownWriteCounts {
		return
	}
	n.own = false
	v.update(now, n, object)
}

// wroteNode takes the answer to a write.
func (v *view) wroteNode(object *corev1.Node) {
	now := v.judge.world.Elapsed()
	n := v.nodes[object.Name]
	written := version(object.ResourceVersion)
	if n == nil || n.object == nil || n.object.UID != object.UID || written < n.version {
		return
	}
	n.written, n.own, n.ownAt = written, true, now
	v.update(now, n, object)
}

// readNode takes the answer to a read after a refused write, which counts like
// one. It may be another node of that name.
func (v *view) readNode(object *corev1.Node) {
	n := v.nodes[object.Name]
	if n == nil || n.object == nil || version(object.ResourceVersion) < n.version {
		return
	}
	if n.object.UID != object.UID {
		v.sawNode(object)
	}
	v.wroteNode(object)
}

func (v *view) update(now time.Duration, n *seenNode, object *corev1.Node) {
	v.catchUp(now)
	fresh := n.object == nil || n.object.UID != object.UID
	if !fresh {
		v.reconsider(now, n) // it may have fallen in the zone that it is leaving
	} else {
		v.forget(now, n)
		n.heard, n.beats = false, v.beats(n.name)
		n.lease = leaseRead{}
		n.heardLast, n.fallen = now, false
	}
	if !fresh && model.ShowsBeat(n.object, object) {
		v.heardAPI(now, now)
		v.hear(now, n)
	}
	if reported(object) && (fresh || !reported(n.object)) {
		n.reportedAt = now
	}
	n.object, n.version = object, version(object.ResourceVersion)
	v.observeVersion(now, n, fresh)
	one, fell := v.citizenOf(now, n)
	v.observeZone(now, n, one, fresh, fell)
	v.observeWaiting(now, n)
	v.observeIllness(now, n)
}

// nodeGone takes that a watch has shown that a node is gone.
func (v *view) nodeGone(last *corev1.Node) {
	now := v.judge.world.Elapsed()
	n := v.nodes[last.Name]
	if n == nil || n.object == nil {
		return
	}
	v.catchUp(now)
	v.forget(now, n)
	n.object, n.own = nil, false
	for at := n.latest; at != nil; at = at.next {
		if at.uid == "" {
			n.former, n.latest, n.latestAt = n.latest, at, now
			break
		}
	}
}

// forget takes a node out of its zone.
func (v *view) forget(now time.Duration, n *seenNode) {
	if n.object == nil {
		return
	}
	v.stopWaiting(n)
	v.clarify(now, n, citizen{})
	v.leaveZone(n)
	v.soil(now)
	n.taints, n.zone = nil, nil
	n.illness.end(now)
}

// observeVersion keeps which NoExecute taints the client sees.
func (v *view) observeVersion(now time.Duration, n *seenNode, fresh bool) {
	at := n.latest
	if at == nil || at.version > n.version {
		at = v.judge.nodes[n.name].as(n.version)
	} else {
		at = at.as(n.version)
	}
	if at == n.latest {
		return
	}
	if n.latest == nil || v.decidedAfter(now) > n.latestAt {
		n.former = n.latest
	}
	n.latest, n.latestAt = at, now
	if n.former == nil {
		n.former = at
	}
	before := n.taints
	if fresh {
		before = nil
	}
	n.taints = nil
	for i := range n.object.Spec.Taints {
		if t := &n.object.Spec.Taints[i]; t.Effect == corev1.TaintEffectNoExecute {
			n.taints = append(n.taints, v.newTaint(now, t, before))
		}
	}
}

// newTaint returns from when the client counts a taint that it sees now.
func (v *view) newTaint(now time.Duration, object *corev1.Taint, before []seenTaint) seenTaint {
	t := seenTaint{key: object.Key, started: now}
	if !object.TimeAdded.IsZero() {
		t.dated, t.added = true, v.judge.sinceStart(object.TimeAdded.Time)
		t.started = v.countsFrom(now, t.added).latest
	}
	for i := range before {
		old := &before[i]
		if !sameLineage(old.key, t.key) {
			continue
		}
		if t.dated && (!old.dated || t.added > old.added) {
			continue // it was taken away and set again
		}
		t.started = min(t.started, old.started)
	}
	return t
}

// seenAt returns the version of the node that the client may have seen when it
// decided, after some time.
func (n *seenNode) seenAt(decided time.Duration) *nodeVersion {
	if n.latestAt > decided {
		return n.former
	}
	return n.latest
}

// sawPod takes what a watch has shown.
func (v *view) sawPod(before, after *corev1.Pod) {
	now := v.judge.world.Elapsed()
	if before != nil && before.Spec.NodeName != "" {
		v.boundPods--
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		v.forgetPod(before)
		before = nil
	}
	if after == nil || after.Spec.NodeName == "" {
		return
	}
	v.boundPods++
	if before == nil || before.Spec.NodeName == "" {
		v.podArrived(now, after)
		return
	}
	if !sameTolerations(before.Spec.Tolerations, after.Spec.Tolerations) {
		v.retolerated[after.UID] = now
	}
}

// podArrived notes when it saw a pod on its node, and from when it counts its
// stay. Those of the first lists were there.
func (v *view) podArrived(now time.Duration, object *corev1.Pod) {
	v.stays[object.UID] = now
	if c := podCondition(object, corev1.PodScheduled); c != nil {
		v.stays[object.UID] = v.countsFrom(now, v.judge.sinceStart(c.LastTransitionTime.Time)).latest
	}
	if !v.judge.settings.ByNode {
		return
	}
	v.arrivals[object.UID] = now
	if !v.synced {
		v.arrivals[object.UID] = v.started
	}
}

func (v *view) forgetPod(object *corev1.Pod) {
	delete(v.arrivals, object.UID)
	delete(v.attempts, object.UID)
	delete(v.stays, object.UID)
	delete(v.retolerated, object.UID)
	delete(v.ownPods, object.Name)
	delete(v.deleted, object.UID)
	delete(v.confirmed, object.UID)
}

// stay returns from when the client counts a pod's stay on its node at the
// latest, and whether it sees it there.
func (v *view) stay(p *pod) (from time.Duration, sees bool) {
	from, sees = v.stays[p.uid]
	return from, sees
}
