package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// node is all nodes of a name, as the API server has and had them.
type node struct {
	name   string
	object *corev1.Node // nil while there is none
	// oldest and newest are the first and the last of the versions kept.
	oldest, newest *nodeVersion
	kept           int
	created        time.Duration
	// machine is what stands behind the name.
	machine *model.Machine
	// ready is what Ready says, since readySince.
	ready      corev1.ConditionStatus
	readySince time.Duration
	// lastReady is until when Ready was True last.
	lastReady time.Duration
	// wrongSince is since when its taints of ours are not what its conditions ask
	// for.
	wrong      bool
	wrongSince time.Duration
	// wrongKey is one that is wrong, if there is one, since keySince.
	wrongKey string
	keySince time.Duration
	// written is how often clients have written its taints or labels, fell how
	// often it has become Unknown.
	written, fell pace
	citizen       citizen
	pods          []*pod
	// leaveAt and markAt are when to look at its pods again, see checking.
	leave, mark appointment
}

// nodeVersion is a node from one change of its NoExecute taints to the next. A
// holder of one reaches all that came after it; the garbage collector takes
// those that have no holder.
type nodeVersion struct {
	version uint64
	at      time.Duration
	uid     types.UID // empty while there is no node
	taints  []taint
	next    *nodeVersion
}

// versionsKept is how many versions of a node are kept for clients that have
// yet to see it.
const versionsKept = 32

// taint is a NoExecute taint that is stored.
type taint struct {
	key, value string
	// dated says that it has a TimeAdded, which is added.
	dated bool
	added time.Duration
	// stored is since when it is there, started the earliest time that it may be
	// counted from: that of its lineage, or what TimeAdded says.
	stored, started time.Duration
}

func (t *taint) ours() bool { return illness(t.key) }

// illness reports whether a taint with that key says that its node is ill.
func illness(key string) bool {
	return key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable
}

// sameLineage reports whether two taints count as one for the node's pods.
func sameLineage(a, b string) bool { return a == b || illness(a) && illness(b) }

// sinceStart turns a time of day into one of the world's.
func (j *Judge) sinceStart(at time.Time) time.Duration { return at.Sub(j.world.Config().Start) }

// storeNode records a node's new version.
func (j *Judge) storeNode(w model.NodeWrite) {
	now := j.world.Elapsed()
	if w.After == nil {
		j.newest++ // the model counts the deletion after it has told of it
		j.nodeGone(now, j.nodes[w.Before.Name])
		return
	}
	j.newest = version(w.After.ResourceVersion)
	n := j.nodes[w.After.Name]
	if n == nil {
		n = &node{name: w.After.Name, machine: j.world.Machine(w.After.Name)}
		j.nodes[n.name] = n
		j.inOrder = append(j.inOrder, n)
	}
	fresh := n.object == nil
	if fresh {
		n.created = now
		n.written = pace{}
	}
	if ready := readyStatus(w.After); fresh || ready != n.ready {
		if n.ready == corev1.ConditionTrue {
			n.lastReady = now
		}
		n.ready, n.readySince = ready, now
		n.mark.cancel()
		if ready == corev1.ConditionUnknown {
			n.fell.count(now)
		}
	}
	if s := j.calls[w.Call]; s != nil && w.Call.Subresource == "" {
		n.written.count(now)
	}
	same := !fresh && sameTaints(n.object.Spec.Taints, w.After.Spec.Taints)
	n.object = w.After
	if !same {
		j.addVersion(now, n)
	}
	j.counted(now, n, fresh)
	j.compared(now, n)
}

func (j *Judge) nodeGone(now time.Duration, n *node) {
	n.object = nil
	n.wrong = false
	n.leave.cancel()
	n.mark.cancel()
	n.append(&nodeVersion{version: j.newest, at: now})
	j.census.count(n.citizen, -1)
	j.followDisruption(now, n.citizen.zone)
	j.followOutage(now)
	j.changed = now
}

// addVersion adds the node's present taints to its history.
func (j *Judge) addVersion(now time.Duration, n *node) {
	v := &nodeVersion{version: version(n.object.ResourceVersion), at: now, uid: n.object.UID}
	var before []taint
	if n.newest != nil && n.newest.uid == v.uid {
		before = n.newest.taints
	}
	for i := range n.object.Spec.Taints {
		if n.object.Spec.Taints[i].Effect == corev1.TaintEffectNoExecute {
			v.taints = append(v.taints, j.newTaint(now, &n.object.Spec.Taints[i], before))
		}
	}
	n.append(v)
	n.leave.cancel()
	j.changed = now
}

func (j *Judge) newTaint(now time.Duration, object *corev1.Taint, before []taint) taint {
	t := taint{key: object.Key, value: object.Value, stored: now, started: now}
	if !object.TimeAdded.IsZero() {
		t.dated, t.added = true, j.sinceStart(object.TimeAdded.Time)
		t.started = min(t.started, t.added+time.Second)
	}
	for i := range before {
		old := &before[i]
		if old.key == t.key {
			t.stored = old.stored
		}
		if sameLineage(old.key, t.key) {
			t.started = min(t.started, old.started)
		}
	}
	return t
}

func (n *node) append(v *nodeVersion) {
	if n.newest == nil {
		n.oldest = v
	} else {
		n.newest.next = v
	}
	n.newest = v
	if n.kept++; n.kept > versionsKept {
		n.oldest = n.oldest.next
		n.kept--
	}
}

// as returns the version of the node that was there at a resourceVersion.
func (n *node) as(of uint64) *nodeVersion { return n.oldest.as(of) }

func (v *nodeVersion) as(of uint64) *nodeVersion {
	for v.next != nil && v.next.version <= of {
		v = v.next
	}
	return v
}

// sameTaints reports whether two lists are the same in all that counts here.
// The model shares what has not changed.
func sameTaints(a, b []corev1.Taint) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !sameTaint(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameTaint(a, b *corev1.Taint) bool {
	return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value && a.TimeAdded.Equal(b.TimeAdded)
}

// counted keeps the census of the truth.
func (j *Judge) counted(now time.Duration, n *node, fresh bool) {
	one := citizenOf(n.object)
	if !fresh && one == n.citizen {
		return
	}
	if !fresh {
		j.census.count(n.citizen, -1)
	}
	former := n.citizen.zone
	n.citizen = one
	j.census.count(one, +1)
	if !fresh && former != one.zone {
		j.followDisruption(now, former)
	}
	j.followDisruption(now, one.zone)
	j.followOutage(now)
	j.changed = now
}

// stretch is a time from one moment to another, or until now.
type stretch struct {
	from, to time.Duration
	ongoing  bool
	ever     bool
}

// followOutage records when all zones are down.
func (j *Judge) followOutage(now time.Duration) {
	switch down := j.census.allDown(); {
	case down && !j.outage.ongoing:
		j.outage = stretch{from: now, ongoing: true, ever: true}
	case !down && j.outage.ongoing:
		j.outage.to, j.outage.ongoing = now, false
	}
}

// pod is one pod, as the API server has and had it.
type pod struct {
	name   string
	uid    types.UID
	object *corev1.Pod // nil when it is gone
	// bound is when it came to its node; arrived the earliest time that its stay
	// may be counted from.
	on             *node
	slot           int
	bound, arrived time.Duration
	scheduled      time.Duration // what the PodScheduled condition says
	versions       []podVersion
	readySince     time.Duration
	namespace      string
	// refusedAt is when a PodDisruptionBudget has refused its eviction last.
	refusedAt time.Duration
	// triedAt is when a client has sent a call about it last.
	triedAt time.Duration
}

// podVersion is a pod from one change of its tolerations to the next. A pod has
// few.
type podVersion struct {
	version     uint64
	at          time.Duration
	tolerations []corev1.Toleration
}

func (p *pod) as(of uint64) int {
	i := len(p.versions) - 1
	for i > 0 && p.versions[i].version > of {
		i--
	}
	return i
}

// latest returns the pod's tolerations.
func (p *pod) tolerations() []corev1.Toleration { return p.versions[len(p.versions)-1].tolerations }

// leaves reports whether the pod is terminating or gone.
func (p *pod) leaves() bool { return p.object == nil || p.object.DeletionTimestamp != nil }

// storePod records a pod's new version.
func (j *Judge) storePod(w model.PodWrite) {
	now := j.world.Elapsed()
	j.changed = now
	if w.After == nil {
		j.newest++
		p := j.pods[w.Before.Name]
		p.object = nil
		p.leaveNode()
		delete(j.pods, p.name)
		return
	}
	j.newest = version(w.After.ResourceVersion)
	p := j.pods[w.After.Name]
	if p == nil {
		p = &pod{name: w.After.Name, uid: w.After.UID, namespace: w.After.Namespace, refusedAt: -never, triedAt: -never}
		j.pods[p.name] = p
	}
	before := p.object
	p.object = w.After
	if before == nil || !sameTolerations(before.Spec.Tolerations, w.After.Spec.Tolerations) {
		p.versions = append(p.versions, podVersion{j.newest, now, w.After.Spec.Tolerations})
		p.visit()
	}
	if p.on == nil && w.After.Spec.NodeName != "" {
		j.bind(now, p)
	}
	if isReady(w.After) && (before == nil || !isReady(before)) {
		p.readySince = now
		p.visit()
	}
}

func (j *Judge) bind(now time.Duration, p *pod) {
	name := p.object.Spec.NodeName
	n := j.nodes[name]
	if n == nil {
		n = &node{name: name, machine: j.world.Machine(name)}
		n.append(&nodeVersion{version: j.newest, at: now})
		j.nodes[name] = n
		j.inOrder = append(j.inOrder, n)
	}
	p.on, p.slot, p.bound, p.arrived, p.scheduled = n, len(n.pods), now, now, now
	n.pods = append(n.pods, p)
	if c := podCondition(p.object, corev1.PodScheduled); c != nil {
		p.scheduled = j.sinceStart(c.LastTransitionTime.Time)
		p.arrived = min(now, p.scheduled+time.Second)
	}
	p.visit()
}

// visit has the pods of its node looked at again.
func (p *pod) visit() {
	if p.on != nil {
		p.on.leave.cancel()
		p.on.mark.cancel()
	}
}

func (p *pod) leaveNode() {
	if p.on == nil {
		return
	}
	last := len(p.on.pods) - 1
	p.on.pods[p.slot] = p.on.pods[last]
	p.on.pods[p.slot].slot = p.slot
	p.on.pods[last] = nil
	p.on.pods = p.on.pods[:last]
}

func isReady(object *corev1.Pod) bool {
	c := podCondition(object, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func sameTolerations(a, b []corev1.Toleration) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
