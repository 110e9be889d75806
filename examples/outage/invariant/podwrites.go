package invariant

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// judgePodWrite judges what a client has done to a pod.
func (j *Judge) judgePodWrite(w model.PodWrite) {
	s, p := j.calls[w.Call], j.pods[w.Before.Name]
	if s == nil || p == nil {
		return
	}
	if w.Call.Verb == network.Delete || w.Call.Verb == network.Evict {
		if w.After == nil || w.After.DeletionTimestamp != w.Before.DeletionTimestamp {
			j.judgeDeletion(s, p, w.Call)
		}
		return
	}
	if w.After == nil {
		return
	}
	if what := foreignPodChange(w.Before, w.After); what != "" {
		j.violated(OthersUntouched, p.name+what, "%s changes %s of pod %s", s.view.client.Name, what, p.name)
	}
	if s.answered != 0 && s.answered == version(w.Before.ResourceVersion) && samePod(w.Before, w.After) {
		j.violated(NotTwice, p.name,
			"%s writes to pod %s what it has been answered to have written, and no client has changed since",
			s.view.client.Name, p.name)
	}
}

// judgeDeletion judges a call that makes a pod leave, or that only a
// PodDisruptionBudget keeps from it.
func (j *Judge) judgeDeletion(s *sent, p *pod, call *network.Call) {
	client := s.view.client.Name
	if uidOf(call) == "" {
		j.violated(NeverEarly, p.name+"/uid", "%s deletes pod %s without saying which UID", client, p.name)
	}
	if p.on == nil || s.decision.node == nil {
		j.violated(NeverEarly, string(p.uid), "%s deletes pod %s (%s), which was on no node when the call was sent", client,
			p.name, p.uid)
		return
	}
	if s.byNode {
		return // it was judged when it was sent
	}
	d := s.decision
	earliest, _ := s.earliestFor(p)
	if earliest == never {
		j.violated(NeverEarly, string(p.uid), "%s deletes pod %s (%s) on node %s by a call of %v, but it need not leave: %s",
			client, p.name, p.uid, p.on.name, s.at, p.describe(&d))
	} else if s.at+j.settings.Skew < earliest {
		j.violated(NeverEarly, string(p.uid), "%s deletes pod %s (%s) on node %s by a call of %v, but it is due at %v: %s",
			client, p.name, p.uid, p.on.name, s.at, earliest, p.describe(&d))
	}
}

// earliestFor returns the earliest time at which a pod may leave for taints. It
// also returns from when on it may be said that the pod does not go.
func (s *sent) earliestFor(p *pod) (due, since time.Duration) {
	due, since = never, never
	for on := s.decision.node; on != nil; on = on.next {
		for _, version := range p.versions[s.decision.pod:] {
			due = min(due, p.earliestDue(on.taints, version.tolerations, s.decision.oursCount, s.view.nodes[p.on.name]))
			since = min(since, p.earliestSince(on.taints, version.tolerations, s.decision.oursCount, s.view.nodes[p.on.name]))
		}
	}
	return due, since
}

// dueForOthers is the earliest time at which a pod may leave for taints of
// others.
func (s *sent) dueForOthers(p *pod) time.Duration {
	due := never
	for on := s.decision.node; on != nil; on = on.next {
		for _, version := range p.versions[s.decision.pod:] {
			due = min(due, p.earliestDue(on.taints, version.tolerations, false, s.view.nodes[p.on.name]))
		}
	}
	return due
}

// judgeSpared judges a call that makes a pod leave for a taint of ours.
func (j *Judge) judgeSpared(s *sent, p *pod) {
	n := s.view.nodes[p.on.name]
	if n == nil || n.object == nil || n.illness.ongoing || n.illness.over >= s.after {
		return
	}
	if readyStatus(n.object) == corev1.ConditionTrue {
		j.violated(SparedWhenReady, string(p.uid),
			"%s makes pod %s (%s) leave node %s by a call of %v, though it sees the node ready since %v",
			s.view.client.Name, p.name, p.uid, n.name, s.at, n.illness.over)
	}
}

// serves notes that a pod was told to leave that had to at some time, if it had
// to for a taint. With a clock that is ahead it may be told before.
func (s *sent) serves(due time.Duration) {
	if due != never {
		s.view.served = max(s.view.served, min(due, s.at))
	}
}

// judgeLeaving judges a call that is to make a pod leave: by what, and by a
// means that the client has been given.
func (j *Judge) judgeLeaving(s *sent, call *network.Call, p *pod) {
	config := &j.settings
	j.judgeHalt(s, string(call.Verb)+" of pod "+p.name, string(p.uid))
	due, since := s.earliestFor(p)
	s.serves(due)
	switch {
	case config.ByNode && s.at+config.Skew < due:
		s.byNode = true
		since = j.judgeNodeEviction(s, p)
		j.judgeSilence(s, p.on.name)
	case s.at >= due && s.at+config.Skew < s.dueForOthers(p):
		j.judgeSilence(s, p.on.name)
		if config.Recovery == 0 {
			j.judgeSpared(s, p)
		}
	}
	client := s.view.client.Name
	switch {
	case config.SpareDaemons && isDaemon(p.object):
		j.violated(AsConfigured, string(p.uid), "%s sends %s of pod %s (%s), which a DaemonSet owns", client, call.Verb,
			p.name, p.uid)
	case config.Action == DryRun,
		call.Verb == network.Evict && !config.evicts(),
		call.Verb == network.Delete && config.Action == Evict:
		j.violated(AsConfigured, string(p.uid), "%s sends %s of pod %s (%s), but its action is %s", client, call.Verb, p.name,
			p.uid, config.Action)
	case call.Verb == network.Delete && config.evicts() && since != never && s.at+config.Skew < since+config.EvictFor:
		j.violated(AsConfigured, string(p.uid),
			"%s deletes pod %s (%s) by a call of %v, but it is due since %v and to be evicted until %v",
			client, p.name, p.uid, s.at, since, since+config.EvictFor)
	}
}

// describe tells what a decision about a pod could be based on.
func (p *pod) describe(d *decision) string {
	var text strings.Builder
	fmt.Fprintf(&text, "bound at %v", p.bound)
	if !d.oursCount {
		text.WriteString(", all zones down")
	}
	for on := d.node; on != nil; on = on.next {
		fmt.Fprintf(&text, "; from %v on taints", on.at)
		for i := range on.taints {
			t := &on.taints[i]
			fmt.Fprintf(&text, " %s (since %v, counts from %v)", t.key, t.stored, t.started)
			if lasts, tolerated := patience(p.tolerations(), t); tolerated {
				fmt.Fprintf(&text, " tolerated for %v", lasts)
			}
		}
	}
	return text.String()
}

// nodeLost is the reason of a pod's status whose node is emptied.
const nodeLost = "NodeLost"

// foreignPodChange returns what a client has changed of a pod that is not its
// own.
func foreignPodChange(before, after *corev1.Pod) string {
	switch {
	case before.UID != after.UID || before.Spec.NodeName != after.Spec.NodeName:
		return "identity"
	case !sameTolerations(before.Spec.Tolerations, after.Spec.Tolerations):
		return "tolerations"
	case before.DeletionTimestamp != after.DeletionTimestamp:
		return "deletionTimestamp"
	case len(before.Labels) != len(after.Labels):
		return "labels"
	case before.Status.Reason != after.Status.Reason && after.Status.Reason != nodeLost:
		return "status.reason"
	}
	return foreignPodCondition(before, after)
}

// foreignPodCondition returns which condition was changed that may not be, or
// to what it may not be.
func foreignPodCondition(before, after *corev1.Pod) string {
	for i := range after.Status.Conditions {
		has := &after.Status.Conditions[i]
		had := podCondition(before, has.Type)
		if had != nil && samePodCondition(had, has) {
			continue
		}
		if !mayWrite(had, has) {
			return "condition " + string(has.Type)
		}
	}
	gone := slices.IndexFunc(before.Status.Conditions,
		func(c corev1.PodCondition) bool { return podCondition(after, c.Type) == nil })
	if gone >= 0 {
		return "condition " + string(before.Status.Conditions[gone].Type)
	}
	return ""
}

// mayWrite reports whether a client may change a condition like that: it marks a
// pod as not ready, or as about to be evicted, and takes no mark back.
func mayWrite(had, has *corev1.PodCondition) bool {
	switch has.Type {
	case corev1.DisruptionTarget:
		return has.Status == corev1.ConditionTrue
	case corev1.PodReady:
		return had != nil && has.Status == corev1.ConditionFalse
	default:
		return false
	}
}

func samePodCondition(a, b *corev1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// samePod reports whether a write has changed nothing that says something.
func samePod(before, after *corev1.Pod) bool {
	if len(before.Status.Conditions) != len(after.Status.Conditions) {
		return false
	}
	for i := range after.Status.Conditions {
		had := podCondition(before, after.Status.Conditions[i].Type)
		if had == nil || had.Status != after.Status.Conditions[i].Status || had.Reason != after.Status.Conditions[i].Reason {
			return false
		}
	}
	return true
}
