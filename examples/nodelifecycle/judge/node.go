package judge

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// node is all nodes of a name, as the API server has and had them.
type node struct {
	name   string
	object *corev1.Node // nil while there is none
	// versions are the last ones, from one change of what makes pods leave to the
	// next; there is always one.
	versions []*nodeVersion
	created  time.Duration
	machine  *model.Machine
	beats    beats // renewals of its lease
	// heard is when it had beaten last, by its lease or its status, when it was
	// looked at last.
	heard time.Duration
	// ready is what Ready says, since readySince; lastReady is until when it was
	// True last.
	ready                 corev1.ConditionStatus
	readySince, lastReady time.Duration
	// fell is since when it is not ready: said to be, or silent for a grace
	// period. It is never while it is ready.
	fell time.Duration
	// lastFell is the last time that it fell, also if it is ready again.
	lastFell time.Duration
	zone     zoneKey
	moved    time.Duration // to its zone
	// relapse is since when it is ready and has a taint that says otherwise, wrong
	// since when wrongKey, a NoSchedule taint, does not follow its conditions. They
	// are never while all is right.
	relapse, wrong time.Duration
	wrongKey       string
	// written is how often clients have written its taints or labels, declared
	// how often it has become Unknown.
	written, declared pace
	// called is when a call that writes to it was under way last, and failed when
	// such a call had failed.
	called, failed time.Duration
	pods           []*pod
	// visit is when to look at its pods again.
	visit time.Duration
}

// nodeVersion is a node from one change of its NoExecute taints, or of whether
// it is ready, to the next.
type nodeVersion struct {
	version uint64
	at      time.Duration
	uid     types.UID // empty while there is no node
	taints  []*taint
	ready   bool
	ill     *illness // nil while it is ready, or nothing says that it is not
}

// versionsKept is how many versions of a node are kept for processes that have
// yet to see it.
const versionsKept = 64

// beats are the last heartbeats of a machine.
type beats struct {
	at   [16]time.Duration
	next int
}

func (b *beats) add(now time.Duration) {
	b.at[b.next%len(b.at)] = now
	b.next++
}

// upTo returns the last one until a time, or -1.
func (b *beats) upTo(at time.Duration) time.Duration {
	last := time.Duration(-1)
	for i := range min(b.next, len(b.at)) {
		if b.at[i] <= at {
			last = max(last, b.at[i])
		}
	}
	return last
}

// node returns the one of a name.
func (j *Judge) node(name string) *node {
	n := j.nodes[name]
	if n == nil {
		n = &node{name: name, machine: j.world.Machine(name), fell: never, lastFell: -1}
		n.versions = []*nodeVersion{{version: j.newest, at: j.world.Elapsed()}}
		if n.machine != nil {
			n.beats.add(n.machine.LastRenewal)
		}
		j.nodes[name] = n
		j.inOrder = append(j.inOrder, n)
	}
	return n
}

// beat takes a heartbeat. A node that was silent until now has been in doubt, and
// this is the last moment to see it.
func (n *node) beat(j *Judge) {
	now := j.world.Elapsed()
	if now >= n.heard+j.settings.Grace-j.settings.lag() {
		j.look(now)
	}
	n.beats.add(now)
	n.heard = now
}

// storeNode records a node's new version.
func (j *Judge) storeNode(w model.NodeWrite) {
	now := j.world.Elapsed()
	if w.After == nil {
		j.newest++ // the model counts the deletion after it has told of it
		n := j.nodes[w.Before.Name]
		n.object, n.fell, n.visit = nil, never, 0
		n.append(&nodeVersion{version: j.newest, at: now})
		j.changed = now
		j.look(now)
		return
	}
	j.newest = version(w.After.ResourceVersion)
	n := j.node(w.After.Name)
	before := n.object
	fresh := before == nil
	counts := fresh || model.ReadyStatus(before) != model.ReadyStatus(w.After) || zoneOf(before) != zoneOf(w.After) ||
		excluded(before) != excluded(w.After)
	if counts {
		j.look(now) // what was silent until now has been in doubt
		j.changed = now
	}
	if fresh {
		n.created, n.heard, n.written, n.fell, n.moved = now, now, pace{}, never, -1
		n.relapse, n.wrong, n.called, n.failed = never, never, -1, -1
	}
	n.storeReady(now, model.ReadyStatus(w.After), fresh)
	if s := j.calls[w.Call]; s != nil && w.Call.Subresource == "" {
		n.written.count(now)
	}
	n.object = w.After
	n.move(j, now, fresh)
	if fresh || !sameTaints(before.Spec.Taints, w.After.Spec.Taints) || model.ReadyStatus(before) != model.ReadyStatus(w.After) {
		j.addVersion(now, n)
	}
	n.compare(now)
	if counts {
		j.look(now)
	}
}

func (n *node) storeReady(now time.Duration, ready corev1.ConditionStatus, fresh bool) {
	if !fresh && ready == n.ready {
		return
	}
	if n.ready == corev1.ConditionTrue {
		n.lastReady = now
	}
	n.ready, n.readySince, n.visit = ready, now, 0
	if ready == corev1.ConditionUnknown {
		n.declared.count(now)
	}
}

func (n *node) move(j *Judge, now time.Duration, fresh bool) {
	zone := zoneOf(n.object)
	if zone == n.zone && !fresh {
		return
	}
	n.zone = zone
	if !fresh {
		n.moved, j.cluster.moved = now, now
	}
}

// compare keeps since when a node's taints of ours are not what they should be.
func (n *node) compare(now time.Duration) {
	switch relapsed := n.ready == corev1.ConditionTrue && (illnessOf(n.object, executes) != nil ||
		illnessOf(n.object, corev1.TaintEffectNoSchedule) != nil); {
	case !relapsed:
		n.relapse = never
	case n.relapse == never:
		n.relapse = now
	}
	// A node that is not ill may keep this taint until its next heartbeat.
	switch key := wrongTaint(n.object, !saidIll(n.object)); {
	case key == "":
		n.wrong, n.wrongKey = never, ""
	case key != n.wrongKey:
		n.wrong, n.wrongKey = now, key
	}
}

// addVersion adds the node's present taints to its history.
func (j *Judge) addVersion(now time.Duration, n *node) {
	v := &nodeVersion{version: version(n.object.ResourceVersion), at: now, uid: n.object.UID}
	v.ready = n.ready == corev1.ConditionTrue
	var before []*taint
	if latest := n.latest(); latest.uid == v.uid {
		before, v.ill = latest.taints, latest.ill
	}
	for i := range n.object.Spec.Taints {
		if n.object.Spec.Taints[i].Effect == executes {
			v.taints = append(v.taints, j.newTaint(now, n, &n.object.Spec.Taints[i], before))
		}
	}
	switch {
	case !saidIll(n.object):
		v.ill = nil
	case v.ill == nil:
		since := condition(n.object, corev1.NodeReady).LastTransitionTime
		v.ill = &illness{begun: begun{dated: true, written: j.sinceStart(since.Time), stored: now}}
	}
	n.append(v)
	n.visit, j.changed = 0, now
}

func (n *node) latest() *nodeVersion { return n.versions[len(n.versions)-1] }

func (n *node) append(v *nodeVersion) {
	n.versions = append(n.versions, v)
	if len(n.versions) > versionsKept {
		n.versions = slices.Delete(n.versions, 0, 1)
	}
}

// since returns the versions from the one that was there at a resourceVersion
// on.
func (n *node) since(of uint64) []*nodeVersion {
	i := len(n.versions) - 1
	for i > 0 && n.versions[i].version > of {
		i--
	}
	return n.versions[i:]
}

// waits reports whether a node is to get our NoExecute taint.
func (n *node) waits() bool {
	return n.object != nil && saidIll(n.object) && illnessOf(n.object, executes) == nil
}

// version reads a resourceVersion, which in the model is a number that grows.
func version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
