package invariant

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// sent is a call that is under way.
type sent struct {
	view *view
	at   time.Duration
	// after is the earliest time at which it may have been decided.
	after time.Duration
	node  *seenNode
	// beat is the last heartbeat that it should have counted, of a call about a
	// node.
	beat time.Duration
	// beats are the last heartbeats that a list of all leases can show.
	beats map[string]time.Duration
	// decision is that of a call about a pod.
	decision decision
	// read is the version of the node that a live read of it returns, nil if it
	// returns none. Of a pod, it is the place of that in its versions.
	read struct {
		node *nodeVersion
		pod  int
	}
	// pod is what a call about a pod is about; byNode says that it is made to
	// leave though no taint asks for it.
	pod    *pod
	byNode bool
	// target is what a patch is about.
	target target
	// answered is the version of the client's own last write of the object, if
	// there is one.
	answered uint64
}

// decision is what a client knew when it decided about a pod.
type decision struct {
	after time.Duration
	// node and pod are the oldest versions that it may have seen.
	node      *nodeVersion
	pod       int
	oursCount bool
}

// judged reports whether a call is one that the invariants are about.
func judged(call *network.Call) bool { return call.Kind != network.LeaderLease && !call.BeginsWatch() }

// Sent judges a call that leaves a client.
func (j *Judge) Sent(call *network.Call) {
	if !judged(call) {
		return
	}
	now := j.world.Elapsed()
	v := j.view(call.Client)
	if j.dependsOnZones(call) {
		v.listen(now)
	}
	v.judgeZones(now)
	v.count(now, call)
	if j.quiet && now >= j.quietFrom && !j.refused(call, now) {
		j.violated(Quiet, string(call.Verb)+call.Kind.String()+call.Name,
			"%s sends %s of %s %s%s though nothing has changed since %v",
			v.client.Name, call.Verb, call.Kind, call.Name, ofSubresource(call), j.quietFrom)
	}
	s := &sent{view: v, at: now, after: v.decidedAfter(now)}
	j.calls[call] = s
	j.sentAgain(s, call)
	switch {
	case call.Kind == network.Nodes && call.Verb == network.Patch:
		j.sentNodePatch(s, call)
	case call.Kind == network.Pods && call.Verb == network.Get:
		j.sentPodRead(s, call)
	case call.Kind == network.Pods:
		j.sentPodWrite(s, call)
	}
}

// dependsOnZones reports whether a call may be one that a zone's rate has
// released.
func (j *Judge) dependsOnZones(call *network.Call) bool {
	switch call.Verb {
	case network.Patch:
		return call.Kind == network.Nodes && call.Subresource == "" || j.settings.ByNode && call.Kind == network.Pods
	case network.Delete, network.Evict:
		return j.settings.ByNode
	case network.Get, network.List, network.Update:
	}
	return false
}

func ofSubresource(call *network.Call) string {
	if call.Subresource == "" {
		return ""
	}
	return "/" + call.Subresource
}

// full reports whether the client has as many calls under way as it may.
func (v *view) full() bool {
	most := v.judge.settings.Concurrent
	return most > 0 && v.underWay >= most
}

// lookBusy notes that the client is busy all the time that its calls take.
func (v *view) lookBusy(now time.Duration) {
	if !v.full() {
		return
	}
	v.stretches.add(now, (now - v.busy).Seconds())
	v.busy = now
}

// busySince returns for how long the client has been busy since some time.
func (v *view) busySince(asked, now time.Duration) time.Duration {
	v.lookBusy(now)
	return time.Duration(v.stretches.since(asked) * float64(time.Second))
}

// answered ends a call.
func (v *view) answered(now time.Duration) {
	v.lookBusy(now)
	v.catchUp(now) // before it has a call to spare again
	v.underWay--
	v.freeAt = now
}

func (j *Judge) sentNodePatch(s *sent, call *network.Call) {
	n := s.view.nodes[call.Name]
	if n == nil {
		return
	}
	s.node, s.answered = n, n.written
	s.beat = j.lastBeat(s, n)
	if call.Subresource == "" && addsIllness(call) && n.object != nil && !hasIllness(n.taints) {
		j.judgeTainting(s, n)
	}
	n.calls++
}

// lastBeat returns the last heartbeat of a node that a client must have known
// of when it sent a call.
func (j *Judge) lastBeat(s *sent, n *seenNode) time.Duration {
	m := j.world.Machine(n.name)
	if m == nil {
		return -1
	}
	read := n.lease
	if read.ok && read.at >= s.after-confirmationLasts && !j.world.KnowsLease(s.view.client, n.name) {
		return read.beat
	}
	return m.LastBeat
}

func hasIllness(taints []seenTaint) bool {
	for i := range taints {
		if illness(taints[i].key) {
			return true
		}
	}
	return false
}

func (j *Judge) sentPodWrite(s *sent, call *network.Call) {
	p := j.pods[call.Name]
	if p == nil || p.on == nil {
		return
	}
	v := s.view
	s.pod, p.triedAt = p, s.at
	v.begins(s.at, s.after, call, p)
	s.answered = v.ownPods[p.name]
	s.decision = v.decide(s.after, p)
	if c := v.confirmed[p.uid]; c != nil && c.at >= s.after {
		s.decision = c.decision
	}
	delete(v.confirmed, p.uid)
	if call.Verb != network.Delete && call.Verb != network.Evict {
		return
	}
	uid := p.uid
	if q := call.Preconditions; q != nil && q.UID != nil {
		uid = *q.UID
	}
	if at, told := v.deleted[uid]; told && (v.sees(call.Name, uid) || s.at < at+believed) {
		j.violated(NotTwice, "delete"+string(uid),
			"%s sends a second %s of pod %s (%s), which it has been answered to have made leave",
			v.client.Name, call.Verb, call.Name, uid)
	}
	if uid == p.uid && s.decision.node != nil {
		j.judgeLeaving(s, call, p)
	}
}

// believed is how long an answer counts more than a watch that does not show
// what was answered: the longest wait of eviction.Config.Backoff.
const believed = time.Minute

// sees reports whether a client is shown that a pod is terminating.
func (v *view) sees(name string, uid types.UID) bool {
	pod := model.CachedPod(v.client, name)
	return pod != nil && pod.UID == uid && pod.DeletionTimestamp != nil
}

// confirmation is a decision about a pod that is made from reads of pod and
// node; at is when the last of them was answered.
type confirmation struct {
	decision decision
	node     string
	at       time.Duration
}

func (j *Judge) sentPodRead(s *sent, call *network.Call) {
	p := j.pods[call.Name]
	if p == nil || p.on == nil {
		return
	}
	s.pod, p.triedAt = p, s.at
	s.view.begins(s.at, s.after, call, p)
	s.view.confirmed[p.uid] = &confirmation{s.view.decide(s.after, p), p.on.name, never}
}

// readForPods takes the answer to a read of a node or pod, which may be the
// last before a write. What was true when it was read has to be counted from
// then on, whatever a cache still shows.
func (v *view) readForPods(now time.Duration, s *sent, call *network.Call) {
	if call.Err != nil {
		return // nothing may follow from it
	}
	for uid, c := range v.confirmed {
		switch p := v.judge.pods[call.Name]; {
		case call.Kind == network.Nodes && c.node == call.Name && s.read.node != nil:
			c.decision.node = s.read.node
		case call.Kind == network.Pods && p != nil && p.uid == uid:
			c.decision.pod = s.read.pod
		default:
			continue
		}
		c.at = now
	}
}

// decide returns what a client knows of a pod and its node.
func (v *view) decide(after time.Duration, p *pod) decision {
	d := decision{after: after, node: p.on.newest, oursCount: !v.forbids.held || v.forbids.heldFrom > after}
	if n := v.nodes[p.on.name]; n != nil && n.latest != nil {
		d.node = n.seenAt(after)
	}
	if len(p.versions) > 1 {
		if cached := model.CachedPod(v.client, p.name); cached != nil && cached.UID == p.uid {
			d.pod = p.as(version(cached.ResourceVersion))
		}
		if v.retolerated[p.uid] > after {
			d.pod = max(d.pod-1, 0)
		}
	}
	return d
}

// Processed judges an eviction that was refused, and records what a live read
// can show.
func (j *Judge) Processed(call *network.Call) {
	s := j.calls[call]
	if s == nil {
		return
	}
	if p := j.pods[call.Name]; p != nil && model.Refused(call) {
		j.judgeDeletion(s, p, call)
	}
	if call.Err != nil {
		return
	}
	switch n, p := j.nodes[call.Name], j.pods[call.Name]; {
	case call.Kind == network.Leases:
		j.readLeases(s, call)
	case call.Kind == network.Nodes && n != nil:
		s.read.node = n.newest
	case call.Kind == network.Pods && p != nil:
		s.read.pod = len(p.versions) - 1
	}
}

// readLeases records what a live read of leases can show.
func (j *Judge) readLeases(s *sent, call *network.Call) {
	if call.Verb == network.List {
		s.beats = make(map[string]time.Duration)
		for _, m := range j.world.Machines() {
			s.beats[m.Name] = m.LastRenewal
		}
		return
	}
	if m := j.world.Machine(call.Name); m != nil {
		s.beat = m.LastRenewal
	}
}

// Answered records what a client learns.
func (j *Judge) Answered(call *network.Call) {
	j.view(call.Client).tells(call)
	s := j.calls[call]
	if s == nil {
		return
	}
	delete(j.calls, call)
	now, v := j.world.Elapsed(), s.view
	v.answered(now)
	if n := s.node; n != nil {
		n.calls--
		n.doneAt = now
		if call.Err != nil {
			n.failedAt = now
		}
	}
	if s.pod != nil {
		v.ends(s, call, s.pod)
	}
	v.answeredRefusal(s, call)
	switch call.Verb {
	case network.Get:
		v.read(now, s, call)
	case network.Patch:
		v.patched(call)
	case network.Delete, network.Evict:
		v.deletedPod(call)
	case network.List:
		v.listed(now, s, call)
	case network.Update:
	}
}

// tells takes what an answer tells of whether the API server could be written
// to: a write that was stored, or refused for what is stored, if that did not
// take as long as makes a kubelet give up. A read of the leader's lease tells it
// of the last one, if another process has written since.
func (v *view) tells(call *network.Call) {
	now := v.judge.world.Elapsed()
	refused := apierrors.IsConflict(call.Err) || apierrors.IsInvalid(call.Err)
	switch {
	case call.Verb == network.Update, call.Verb == network.Patch:
		if (call.Err == nil || refused) && now-call.SentAt <= v.judge.settings.BeatInterval {
			v.heardAPI(now, call.SentAt)
		}
	case call.Kind == network.LeaderLease && call.Err == nil:
		if v.lockAt > 0 && v.lock != call.Lock {
			v.heardAPI(v.lockAt, v.lockAt)
		}
		v.lockAt = now
	}
	if call.Kind == network.LeaderLease && call.Verb != network.Patch && call.Err == nil {
		v.lock = call.Lock
	}
}

// read takes the answer to a live read.
func (v *view) read(now time.Duration, s *sent, call *network.Call) {
	if call.Kind != network.Leases {
		v.readForPods(now, s, call)
		return
	}
	if n := v.nodes[call.Name]; n != nil && call.Lease != nil {
		v.readLease(now, call.Lease)
		n.lease = leaseRead{now, s.beat, true}
	}
}

// listed takes the answer to a list of all leases.
func (v *view) listed(now time.Duration, s *sent, call *network.Call) {
	for i := range call.LeaseList {
		v.readLease(now, &call.LeaseList[i])
	}
	for name, beat := range s.beats {
		if n := v.nodes[name]; n != nil {
			n.lease = leaseRead{now, beat, true}
		}
	}
}

// patched takes the answer to a patch.
func (v *view) patched(call *network.Call) {
	switch {
	case call.Kind == network.Nodes && call.Err == nil:
		v.wroteNode(call.Node)
	case call.Kind == network.Pods && call.Err == nil:
		v.ownPods[call.Name] = version(call.Pod.ResourceVersion)
	}
}

// refused reports whether a call asks again for an eviction that a
// PodDisruptionBudget has refused, or looks whether it still has to.
func (j *Judge) refused(call *network.Call, now time.Duration) bool {
	of := func(p *pod) bool { return p != nil && now <= p.refusedAt+j.settings.CalmBound }
	switch {
	case call.Kind == network.Pods:
		return of(j.pods[call.Name])
	case call.Kind == network.Nodes && call.Verb == network.Get && j.nodes[call.Name] != nil:
		return slices.ContainsFunc(j.nodes[call.Name].pods, of)
	}
	return false
}

// deletedPod takes the answer to a delete or an eviction. What the client does
// not see any more it will not delete again.
func (v *view) deletedPod(call *network.Call) {
	if p := v.judge.pods[call.Name]; p != nil && model.Refused(call) {
		p.refusedAt = v.judge.world.Elapsed()
	}
	if call.Err != nil {
		return
	}
	if cached := model.CachedPod(v.client, call.Name); cached != nil && cached.UID == call.Pod.UID {
		v.deleted[call.Pod.UID] = v.judge.world.Elapsed()
	}
}

// forgetCalls drops the calls of clients that have ended.
func (j *Judge) forgetCalls(now time.Duration) {
	if len(j.calls) <= manyCalls {
		return
	}
	for call, s := range j.calls {
		if call.Client.Stopped() && s.at < now-2*network.CallTimeout {
			delete(j.calls, call)
		}
	}
}

// manyCalls is from how many calls under way on to look for some to forget.
const manyCalls = 100

// uidOf returns the UID that a delete is for, or nothing.
func uidOf(call *network.Call) types.UID {
	if call.Preconditions == nil || call.Preconditions.UID == nil {
		return ""
	}
	return *call.Preconditions.UID
}
