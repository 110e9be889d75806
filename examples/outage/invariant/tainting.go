package invariant

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// addsIllness reports whether a patch of a node leaves it with a NoExecute
// taint of ours.
func addsIllness(call *network.Call) bool {
	for _, t := range patchedTaints(call) {
		if t.Effect == corev1.TaintEffectNoExecute && illness(t.Key) {
			return true
		}
	}
	return false
}

// patchedTaints returns the taints that a patch of a node writes.
func patchedTaints(call *network.Call) []corev1.Taint {
	if call.PatchType != types.JSONPatchType {
		var merge struct {
			Spec struct {
				Taints []corev1.Taint `json:"taints"`
			} `json:"spec"`
		}
		if json.Unmarshal(call.Data, &merge) != nil {
			return nil
		}
		return merge.Spec.Taints
	}
	var steps []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if json.Unmarshal(call.Data, &steps) != nil {
		return nil
	}
	var taints []corev1.Taint
	for _, step := range steps {
		if step.Op != "add" && step.Op != "replace" {
			continue
		}
		var one corev1.Taint
		var all []corev1.Taint
		switch {
		case step.Path == "/spec/taints" && json.Unmarshal(step.Value, &all) == nil:
			taints = append(taints, all...)
		case len(step.Path) > len("/spec/taints/") && json.Unmarshal(step.Value, &one) == nil:
			taints = append(taints, one)
		}
	}
	return taints
}

// judgeTainting judges a call that is to give a node that has none our
// NoExecute taint.
func (j *Judge) judgeTainting(s *sent, n *seenNode) {
	v, client := s.view, s.view.client.Name
	j.judgeHalt(s, "our NoExecute taint of node "+n.name, n.name)
	if j.settings.ByNode {
		j.violated(AsConfigured, n.name, "%s gives node %s our NoExecute taint, but its nodes are emptied without", client,
			n.name)
		return
	}
	switch acted := v.forbids.lastActed(s.at); {
	case acted >= s.after:
	case v.forbids.phase == suspended:
		j.violated(SparedInOutage, n.name, "%s taints node %s though it has seen all zones down, or what asks for a pause, "+
			"since %v", client, n.name, v.forbids.downFrom)
	default:
		j.violated(SparedInOutage, n.name, "%s taints node %s before %v, when the window after its start, or after it saw "+
			"all zones down or what asks for a pause, ends",
			client, n.name, v.forbids.until)
	}
	if known := s.view.known(n); s.at < known {
		j.violated(KnownFirst, n.name,
			"%s taints node %s of zone %s, which it saw fall at %v, before %v, when a wave of expiries has passed since the "+
				"first",
			client, n.name, n.zone.key, n.fell, known)
	}
	j.judgeNewcomer(s, n)
	j.judgeOutage(s, n)
	j.judgeReturn(s, n)
	j.judgeRate(s, n)
	j.judgeOrder(s, n)
}

// judgeNewcomer judges the taint of a node that has not reported yet.
func (j *Judge) judgeNewcomer(s *sent, n *seenNode) {
	truth := j.nodes[n.name]
	if reported(n.object) || truth.object == nil || truth.object.UID != n.object.UID {
		return
	}
	if s.at < truth.created+j.settings.StartupGrace {
		j.violated(NotDeclaredAlive, n.name,
			"%s taints node %s, which has never reported, at %v, but it was created only at %v",
			s.view.client.Name, n.name, s.at, truth.created)
	}
}

// judgeSilence judges a call for silence while the client hears of no node that
// counts. That is no less so without a calm, or when the API server did not
// answer. What it was shown late counts from then on. The clock by which it
// measures stands still while its machine is suspended.
func (j *Judge) judgeSilence(s *sent, node string) {
	last := time.Duration(-1)
	for _, other := range s.view.nodes {
		if other.object == nil || other.citizen.excluded {
			continue
		}
		last = max(last, other.heardLast)
		if m := j.nodes[other.name].machine; m != nil {
			last = max(last, m.LastBeat)
		}
	}
	quiet := j.settings.Grace + s.view.client.SuspendedFor(last, s.at) + j.settings.bound()
	if s.after > last+quiet {
		j.violated(SparedInOutage, node+"/silence",
			"%s acts on node %s by a call of %v, though none has beaten since %v, nor was it shown an earlier heartbeat since",
			s.view.client.Name, node, s.at, last)
	}
}

// judgeOutage compares with the truth, if the client could know it.
func (j *Judge) judgeOutage(s *sent, n *seenNode) {
	j.judgeSilence(s, n.name)
	o := &j.outage
	if !o.ever {
		return
	}
	since, calm := j.subject.Calm()
	known := o.from + j.settings.Bound + j.settings.Delay + j.settings.queueing()
	if !calm || since > o.from || s.view.syncedAt > o.from || s.at < known || !o.ongoing && o.to < known {
		return
	}
	if o.ongoing || s.at < o.to+j.settings.Grace {
		j.violated(SparedInOutage, n.name,
			"%s taints node %s though all zones are down, or were less than %v ago: since %v (ongoing: %v, until %v)",
			s.view.client.Name, n.name, j.settings.Grace, o.from, o.ongoing, o.to)
	}
}

func (j *Judge) judgeRate(s *sent, n *seenNode) {
	z := n.zone
	if n.movedAt >= s.after && n.formerZone != nil && !z.high.open(s.after, s.at) {
		z = n.formerZone // it was released there
	}
	counts := s.view.census.zones[n.citizen.zone]
	if !z.high.open(s.after, s.at) {
		if s.view.forbids.lastActed(s.at) >= s.after {
			j.violated(WithinRate, n.name, "%s taints node %s of zone %s, whose rate is 0 since %v (%d ready, %d not)",
				s.view.client.Name, n.name, z.key, z.high[len(z.high)-1].from, counts.ready, counts.notReady)
		}
		return
	}
	if !z.spend(s.after, s.at) {
		j.violated(WithinRate, n.name, "%s taints node %s of zone %s faster than %v a second allow (%d ready, %d not)",
			s.view.client.Name, n.name, z.key, z.high.now(), counts.ready, counts.notReady)
	}
}

// judgeOrder looks for a node that should have come first. Of newcomers, and of
// nodes that were found silent later, it cannot be said since when they wait. A
// write may have failed without a call: a client that may have lost its lease
// sends none. In a calm that does not happen.
func (j *Judge) judgeOrder(s *sent, n *seenNode) {
	since, calm := j.subject.Calm()
	if !calm || n.newcomer() {
		return
	}
	settled := since+j.settings.CalmBound <= s.at
	slack := j.settings.queueing() + j.settings.Delay
	for _, other := range n.zone.waiting {
		if other.fell+j.settings.wave()+slack >= n.fell {
			return
		}
		switch {
		case other == n, other.waitsFrom > s.after-slack, other.movedAt > s.after-slack:
		case other.heardLast > other.fell: // it lived, and waits again since it fell again
		case other.newcomer(), other.guessed, !settled && other.fell < since:
		case other.calls > 0, other.doneAt > s.after-slack, other.failedAt >= other.fell:
		default:
			j.violated(InOrder, n.name,
				"%s taints node %s, which it saw fall at %v, before node %s of the same zone, which it saw fall at %v",
				s.view.client.Name, n.name, n.fell, other.name, other.fell)
			return
		}
	}
}
