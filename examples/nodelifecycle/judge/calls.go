package judge

import (
	"bytes"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// sent is a call that is under way.
type sent struct {
	*Judge

	process *process
	call    *network.Call
	at      time.Duration
	// after is the earliest time at which it may have been decided.
	after time.Duration
	// node is what it writes to, beat the last heartbeat that the process must have
	// counted.
	node *node
	beat time.Duration
	// pod is what it is about. Known and podKnown are the versions of the pod's node
	// and the pod that it may have gone by. Due follows from them.
	pod      *pod
	known    []*nodeVersion
	podKnown []podVersion
	due      deadlines
	// target is what a patch is about, answered the version of the process's own
	// last write of it.
	target   target
	answered uint64
	// charges report violations if it takes effect.
	charges []func()
}

// accuse reports a violation by the call.
func (s *sent) accuse(invariant Invariant, format string, args ...any) {
	subresource := ""
	if s.call.Subresource != "" {
		subresource = "/" + s.call.Subresource
	}
	s.violated(invariant, s.call.Name, "%s, by a %s of %s %s%s at %v: %s", s.process.client.Name,
		s.call.Verb, s.call.Kind, s.call.Name, subresource, s.at, fmt.Sprintf(format, args...))
}

// charge reports a violation by the call if it takes effect.
func (s *sent) charge(invariant Invariant, format string, args ...any) {
	s.charges = append(s.charges, func() { s.accuse(invariant, format, args...) })
}

// convict reports what a call is charged with.
func (s *sent) convict() {
	for _, charge := range s.charges {
		charge()
	}
	s.charges = nil
}

// Sent looks at a call that leaves a process.
func (j *Judge) Sent(call *network.Call) {
	if call.Kind == network.LeaderLease || call.BeginsWatch() {
		return
	}
	now := j.world.Elapsed()
	p := j.process(call.Client)
	s := &sent{Judge: j, process: p, call: call, at: now, after: p.decided(now)}
	j.calls[call] = s
	p.count(now, call)
	for _, outcome := range outcomes {
		for _, rule := range outcome.sent {
			rule(s)
		}
	}
	switch n, pod := j.nodes[call.Name], j.pods[call.Name]; {
	case call.Kind == network.Nodes && call.Verb == network.Patch && n != nil:
		s.sentOfNode(n)
	case call.Kind == network.Pods && pod != nil && pod.on != nil:
		s.sentOfPod(pod)
	}
}

func (s *sent) sentOfNode(n *node) {
	s.look(s.at)
	s.node, s.beat, n.called = n, s.process.lastBeat(n, s.at), s.at
	if addsIllness(s.call) && n.object != nil && illnessOf(n.object, executes) == nil {
		s.turn(n)
	}
}

func (s *sent) sentOfPod(pod *pod) {
	s.pod, pod.tried = pod, s.at
	s.attempts()
	if uid := uidOf(s.call); s.deletes() && (uid == "" || uid == pod.uid) { // or it has no effect
		s.look(s.at)
		s.leaves()
	}
}

// deletes reports whether the call is to make a pod leave.
func (s *sent) deletes() bool { return s.call.Verb == network.Delete || s.call.Verb == network.Evict }

// turn judges that a node has its turn.
func (s *sent) turn(n *node) {
	for _, outcome := range outcomes {
		for _, rule := range outcome.turn {
			rule(s, n)
		}
	}
}

// leaves judges a call that is to make a pod leave.
func (s *sent) leaves() {
	s.decide()
	for _, outcome := range outcomes {
		for _, rule := range outcome.leaving {
			rule(s)
		}
	}
	s.empties()
}

// decide finds out what the process may have gone by: what its watches had shown
// it since the earliest time at which the call can have been decided.
func (s *sent) decide() {
	p, pod := s.process, s.pod
	s.known, s.podKnown = pod.on.since(s.newest), pod.since(s.newest)
	if node := model.CachedNode(p.client, pod.on.name); node != nil {
		s.known = pod.on.since(p.knew(target{kind: network.Nodes, name: node.Name}, node.ResourceVersion, s.after))
	}
	if cached := model.CachedPod(p.client, pod.name); cached != nil && cached.UID == pod.uid {
		s.podKnown = pod.since(p.knew(target{network.Pods, pod.name, pod.uid}, cached.ResourceVersion, s.after))
	}
	s.due = s.deadlines()
}

// judgeNodeWrite judges what a process has written to a node.
func (s *sent) judgeNodeWrite(w model.NodeWrite) {
	if illnessOf(w.Before, executes) == nil && illnessOf(w.After, executes) != nil {
		s.convict()
	}
	for _, outcome := range outcomes {
		for _, rule := range outcome.nodeWrite {
			rule(s, w)
		}
	}
}

// judgePodWrite judges what a process has done to a pod.
func (s *sent) judgePodWrite(w model.PodWrite) {
	switch {
	case s.deletes():
		if w.After == nil || w.After.DeletionTimestamp != w.Before.DeletionTimestamp {
			s.judgeDeletion()
		}
	case w.After != nil:
		for _, outcome := range outcomes {
			for _, rule := range outcome.podWrite {
				rule(s, w)
			}
		}
	}
}

// Processed judges an eviction that only a PodDisruptionBudget has refused like one
// that was allowed.
func (j *Judge) Processed(call *network.Call) {
	if s := j.calls[call]; s != nil && s.pod != nil && model.Refused(call) {
		s.judgeDeletion()
	}
}

// Answered records what a process learns.
func (j *Judge) Answered(call *network.Call) {
	s := j.calls[call]
	if s == nil {
		return
	}
	delete(j.calls, call)
	now, p := j.world.Elapsed(), s.process
	p.ends(now)
	if n := s.node; n != nil {
		n.called = now
		if call.Err != nil {
			n.failed = now
		}
	}
	if s.pod != nil {
		s.attempted()
	}
	s.learn()
	p.reads(call)
}

// forgetCalls drops the calls of processes that have ended.
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

// marking reports whether a patch marks a pod as about to be evicted.
func marking(call *network.Call) bool { return bytes.Contains(call.Data, []byte(`"DisruptionTarget"`)) }
