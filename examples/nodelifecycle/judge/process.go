package judge

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// process is one life of a controller: what the world knows of it. That is when
// it has started, led and stood still, what reached it when, and which calls it
// has sent.
type process struct {
	judge  *Judge
	client *network.Client

	started             time.Duration
	synced, led         time.Duration // -1: not yet
	pausedAt, resumedAt time.Duration // -1: never
	halt                halt

	// heard is when the last heartbeat of any node reached it.
	heard time.Duration
	// shown is the version of a node, or a pod, that its watch showed before the one
	// that it shows, and until when.
	shown map[target]former

	// calls are the calls that it has sent, by what for. UnderWay are so many, busy
	// is when it last had as many as it may, stretches are the seconds in which it
	// had.
	calls     [kindsOfWork]tally
	underWay  int
	busy      time.Duration
	stretches tally
	// turns are those that nodes of each zone had, shares what was used of budgets.
	turns  map[zoneKey]*turns
	shares map[shareKey]*share
	// served is when the pod had to leave that had to last, of all that it has told
	// to because of taints.
	served time.Duration
	// deleted is when it was answered that a pod leaves, answered the version of its
	// own last write of an object, refused what it has to read again.
	deleted  map[types.UID]time.Duration
	answered map[target]uint64
	refused  map[target]bool
}

// former is a version that was replaced at a time.
type former struct {
	version uint64
	at      time.Duration
}

// process returns that of a client. One that nothing was heard of before begins
// now.
func (j *Judge) process(client *network.Client) *process {
	for _, p := range j.processes {
		if p.client == client {
			return p
		}
	}
	p := &process{
		judge: j, client: client, started: j.world.Elapsed(),
		synced: -1, led: -1, busy: -1, pausedAt: -1, resumedAt: -1,
		served: -never, shown: make(map[target]former),
		turns: make(map[zoneKey]*turns), shares: make(map[shareKey]*share),
		deleted: make(map[types.UID]time.Duration), answered: make(map[target]uint64), refused: make(map[target]bool),
	}
	j.processes = append(j.processes, p)
	return p
}

func (j *Judge) noted(note network.Note) {
	if note.Kind == network.Stopped {
		j.processes = slices.DeleteFunc(j.processes, func(p *process) bool { return p.client == note.Client })
		return
	}
	p, now := j.process(note.Client), j.world.Elapsed()
	switch note.Kind {
	case network.Started:
		p.started = now
	case network.Synced:
		p.synced = now
	case network.Leads:
		p.led = now
	case network.Paused:
		p.pausedAt = now
	case network.Resumed:
		p.resumedAt = now
	case network.FaultBegan, network.FaultEnded, network.Stopped:
	}
}

// decided returns the earliest time at which a call that is sent now may have
// been decided. Calls wait for their client's rate, and while it stands still.
func (p *process) decided(now time.Duration) time.Duration {
	waits := p.judge.settings.queueing()
	if p.resumedAt >= 0 && p.resumedAt >= now-waits {
		return p.pausedAt - waits
	}
	return now - waits
}

// sawNode takes that a watch has shown a version. After is nil for one that is
// gone.
func (p *process) sawNode(before, after *corev1.Node) {
	now := p.judge.world.Elapsed()
	if before != nil {
		p.shows(target{kind: network.Nodes, name: before.Name}, before.ResourceVersion, now)
	}
	if after == nil {
		return
	}
	latest := p.judge.node(after.Name).since(version(after.ResourceVersion))[0]
	for _, t := range latest.taints {
		t.seen.see(p.client, now)
	}
	if latest.ill != nil {
		latest.ill.seen.see(p.client, now)
	}
	if before == nil || before.UID != after.UID || model.ShowsBeat(before, after) {
		p.heard = now
	}
}

// sawPod takes that a watch has shown a pod.
func (p *process) sawPod(before, after *corev1.Pod) {
	now := p.judge.world.Elapsed()
	if before != nil {
		p.shows(target{network.Pods, before.Name, before.UID}, before.ResourceVersion, now)
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		gone := target{network.Pods, before.Name, before.UID}
		delete(p.shown, gone)
		delete(p.deleted, gone.uid)
		delete(p.answered, gone)
		delete(p.refused, gone)
	}
	if after == nil || after.Spec.NodeName == "" {
		return
	}
	if pod := p.judge.pods[after.Name]; pod != nil && pod.uid == after.UID {
		pod.arrived.seen.see(p.client, now)
	}
}

// shows records which version a watch has shown up to now. Of several that it
// shows within the time that a call may wait, the first counts.
func (p *process) shows(of target, resourceVersion string, now time.Duration) {
	last, known := p.shown[of]
	if !known || last.at < p.decided(now) {
		last.version = version(resourceVersion)
	}
	p.shown[of] = former{last.version, now}
}

// knew returns the oldest version that a process can have gone by since some
// time by its watch, which shows one now.
func (p *process) knew(of target, now string, after time.Duration) uint64 {
	if last, known := p.shown[of]; known && last.at > after {
		return min(version(now), last.version)
	}
	return version(now)
}

// deaf returns for how much of the time between two moments it could not hear.
func (p *process) deaf(from, to time.Duration) time.Duration {
	if p.judge.settings.BlindAfter == 0 {
		return 0
	}
	return p.client.Deaf(from, to, p.judge.settings.BlindAfter)
}

// lastBeat returns the last heartbeat of a node that the process must have known
// of by now, because its watch has shown it, or because it has asked since.
func (p *process) lastBeat(n *node, now time.Duration) time.Duration {
	switch {
	case n.machine == nil:
		return -1
	case p.judge.world.KnowsLease(p.client, n.name):
		return n.machine.LastBeat
	}
	return n.beats.upTo(p.decided(now) - confirmationLasts)
}

// reads takes that a live read has shown leases. A version that the watch does not
// show is a sign of life.
func (p *process) reads(call *network.Call) {
	leases := call.LeaseList
	if call.Lease != nil {
		leases = []coordinationv1.Lease{*call.Lease}
	}
	for i := range leases {
		if cached := model.CachedLease(p.client, leases[i].Name); cached == nil ||
			cached.ResourceVersion != leases[i].ResourceVersion {
			p.heard = p.judge.world.Elapsed()
		}
	}
}
