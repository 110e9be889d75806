package invariant

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// judgeNodeWrite judges what a client has written to a node.
func (j *Judge) judgeNodeWrite(w model.NodeWrite) {
	s := j.calls[w.Call]
	if s == nil {
		return
	}
	j.judgeDeclaration(s, w)
	j.judgeTaints(s, w)
	if what := foreignChange(w.Before, w.After); what != "" {
		j.violated(OthersUntouched, w.After.Name+what, "%s changes %s of node %s", s.view.client.Name, what, w.After.Name)
	}
	if s.answered != 0 && s.answered == version(w.Before.ResourceVersion) && sameNode(w.Before, w.After) {
		j.violated(NotTwice, w.After.Name,
			"%s writes to node %s%s what it has been answered to have written, and no client has changed since",
			s.view.client.Name, w.After.Name, ofSubresource(w.Call))
	}
}

// judgeDeclaration judges a node's becoming Unknown.
func (j *Judge) judgeDeclaration(s *sent, w model.NodeWrite) {
	had, has := condition(w.Before, corev1.NodeReady), condition(w.After, corev1.NodeReady)
	if has == nil || has.Status != corev1.ConditionUnknown || had != nil && had.Status == corev1.ConditionUnknown {
		return
	}
	n := j.nodes[w.After.Name]
	j.judgeTime(s, n.name, "the condition Ready", has.LastTransitionTime)
	m := j.world.Machine(n.name)
	if m == nil {
		return
	}
	if s.beat >= n.created && s.at < s.beat+j.settings.Grace {
		j.violated(NotDeclaredAlive, n.name, "%s declares node %s by a call of %v, but it has beaten at %v",
			s.view.client.Name, n.name, s.at, s.beat)
	}
	if deaf := j.deaf(s, s.beat); s.beat >= n.created && s.at < s.beat+deaf+j.settings.Grace {
		j.violated(NotDeclaredAlive, n.name, "%s declares node %s by a call of %v, but could not have heard of it for %v "+
			"since %v", s.view.client.Name, n.name, s.at, deaf, s.beat)
	}
	if had == nil && m.LastBeat < n.created && s.at < n.created+j.settings.StartupGrace {
		j.violated(NotDeclaredAlive, n.name, "%s declares node %s by a call of %v, but it was created only at %v",
			s.view.client.Name, n.name, s.at, n.created)
	}
}

// judgeTime judges the time of day that a client writes for what it does. It
// has whole seconds.
func (j *Judge) judgeTime(s *sent, node, of string, written metav1.Time) {
	at, skew := j.sinceStart(written.Time), j.settings.Skew
	if at < s.after-time.Second-skew || at > s.at+skew {
		j.violated(TimesTold, node+of, "%s writes by a call of %v that the time of %s of node %s is %v", s.view.client.Name,
			s.at, of, node, at)
	}
}

// deaf returns how much of the time since a moment a client could not have
// heard of a node when it sent a call.
func (j *Judge) deaf(s *sent, since time.Duration) time.Duration {
	if j.settings.BlindAfter == 0 {
		return 0
	}
	return s.view.client.Deaf(since, s.at, j.settings.BlindAfter)
}

// judgeTaints judges what a client does to the taints that are ours.
func (j *Judge) judgeTaints(s *sent, w model.NodeWrite) {
	if sameTaints(w.Before.Spec.Taints, w.After.Spec.Taints) {
		return
	}
	name, client := w.After.Name, s.view.client.Name
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		had, has := illnessOf(w.Before, effect), illnessOf(w.After, effect)
		if had != nil && has == nil && !j.mayUntaint(s, w, effect) {
			j.violated(UntaintedByABeat, name+string(effect),
				"%s, which has started at %v, takes taint %s:%s from node %s, which has not beaten since",
				client, s.view.started, had.Key, effect, name)
		}
		if effect != corev1.TaintEffectNoExecute || has == nil {
			continue
		}
		switch {
		case has.TimeAdded.IsZero() && (had == nil || had.Key != has.Key):
			j.violated(LineageKept, name, "%s gives node %s taint %s without TimeAdded", client, name, has.Key)
		case had == nil:
			j.judgeTime(s, name, "taint "+has.Key, *has.TimeAdded)
		case !had.TimeAdded.IsZero() && has.TimeAdded.After(had.TimeAdded.Time):
			j.violated(LineageKept, name, "%s changes TimeAdded of node %s from %v (%s) to %v (%s)", client, name, had.TimeAdded,
				had.Key, has.TimeAdded, has.Key)
		}
	}
}

// illnessOf returns the taint that says that a node is ill, of several with
// TimeAdded the earliest.
func illnessOf(node *corev1.Node, effect corev1.TaintEffect) *corev1.Taint {
	var found *corev1.Taint
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != effect || !illness(t.Key) {
			continue
		}
		if found == nil || !t.TimeAdded.IsZero() && t.TimeAdded.Before(found.TimeAdded) {
			found = t
		}
	}
	return found
}

func (j *Judge) mayUntaint(s *sent, w model.NodeWrite, effect corev1.TaintEffect) bool {
	if m := j.world.Machine(w.After.Name); m != nil && m.LastBeat >= s.view.started {
		return true
	}
	v := s.view
	return effect == corev1.TaintEffectNoExecute && v.excuses.outage && (v.excuses.held || v.excuses.heldTo >= s.after)
}

// foreignChange returns what a client has changed that is not its own.
func foreignChange(before, after *corev1.Node) string {
	switch {
	case !sameForeignTaints(before.Spec.Taints, after.Spec.Taints):
		return "taints"
	case !sameLabels(before.Labels, after.Labels):
		return "labels"
	case !maps.Equal(before.Annotations, after.Annotations):
		return "annotations"
	case before.Spec.Unschedulable != after.Spec.Unschedulable:
		return "spec.unschedulable"
	case before.UID != after.UID:
		return "UID"
	}
	return foreignCondition(before, after)
}

func sameForeignTaints(before, after []corev1.Taint) bool {
	if sameTaints(before, after) {
		return true
	}
	next := 0
	for i := range before {
		if owned(&before[i]) {
			continue
		}
		for next < len(after) && owned(&after[next]) {
			next++
		}
		if next == len(after) || !sameTaint(&before[i], &after[next]) {
			return false
		}
		next++
	}
	for ; next < len(after); next++ {
		if !owned(&after[next]) {
			return false
		}
	}
	return true
}

// copied are pairs of labels; the second must have the value of the first.
var copied = [...]struct{ from, to string }{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

func sameLabels(before, after map[string]string) bool {
	if maps.Equal(before, after) {
		return true
	}
	expected := maps.Clone(before)
	for _, pair := range copied {
		if value, there := before[pair.from]; there && after[pair.to] == value {
			expected[pair.to] = value
		}
	}
	return maps.Equal(expected, after)
}

// foreignCondition returns which condition was changed that may not be, or to
// what it may not be.
func foreignCondition(before, after *corev1.Node) string {
	for i := range after.Status.Conditions {
		has := &after.Status.Conditions[i]
		had := condition(before, has.Type)
		if had != nil && sameCondition(had, has) {
			continue
		}
		switch has.Type {
		case corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure:
			if has.Status == corev1.ConditionUnknown {
				continue
			}
		default:
		}
		return "condition " + string(has.Type)
	}
	for i := range before.Status.Conditions {
		if condition(after, before.Status.Conditions[i].Type) == nil {
			return "condition " + string(before.Status.Conditions[i].Type)
		}
	}
	return ""
}

func sameCondition(a, b *corev1.NodeCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastHeartbeatTime.Equal(&b.LastHeartbeatTime) && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// sameNode reports whether a write has changed nothing that says something.
func sameNode(before, after *corev1.Node) bool {
	if !sameTaints(before.Spec.Taints, after.Spec.Taints) || !maps.Equal(before.Labels, after.Labels) ||
		len(before.Status.Conditions) != len(after.Status.Conditions) {
		return false
	}
	for i := range after.Status.Conditions {
		had := condition(before, after.Status.Conditions[i].Type)
		if had == nil || had.Status != after.Status.Conditions[i].Status || had.Reason != after.Status.Conditions[i].Reason {
			return false
		}
	}
	return true
}

// asked is which condition, in which status, asks for which NoSchedule taint.
// Source: kube-controller-manager v1.37, pkg/controller/nodelifecycle.
var asked = [...]struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
}

// owned reports whether a taint is one that the controller decides about.
func owned(t *corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoExecute:
		return illness(t.Key)
	case corev1.TaintEffectNoSchedule:
		for i := range asked {
			if asked[i].key == t.Key {
				return true
			}
		}
		return t.Key == corev1.TaintNodeUnschedulable
	case corev1.TaintEffectPreferNoSchedule:
	}
	return false
}

// wrongTaint returns a NoSchedule taint of ours that a node has and should not
// have, or the other way around; empty if there is none. Those that say that a
// node is ill may be ignored: only a heartbeat takes them away.
func wrongTaint(node *corev1.Node, ignoreIllness bool) string {
	for i := range asked {
		c := condition(node, asked[i].condition)
		wanted := c != nil && c.Status == asked[i].status
		has := hasTaint(node, asked[i].key, corev1.TaintEffectNoSchedule)
		if wanted != has && !(has && ignoreIllness && illness(asked[i].key)) {
			return asked[i].key
		}
	}
	if node.Spec.Unschedulable != hasTaint(node, corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule) {
		return corev1.TaintNodeUnschedulable
	}
	return ""
}

func hasTaint(node *corev1.Node, key string, effect corev1.TaintEffect) bool {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == key && node.Spec.Taints[i].Effect == effect {
			return true
		}
	}
	return false
}

// compared keeps whether a node's taints of ours are what they should be.
func (j *Judge) compared(now time.Duration, n *node) {
	wrong := wrongTaint(n.object, false) != "" ||
		n.citizen.stands == standsReady && illnessOf(n.object, corev1.TaintEffectNoExecute) != nil
	if wrong && !n.wrong {
		n.wrongSince = now
	}
	n.wrong = wrong
	// A node that is not ill may keep this taint until its next heartbeat: see
	// wrongTaints.
	if key := wrongTaint(n.object, !saidIll(n.object)); key != n.wrongKey {
		n.wrongKey, n.keySince = key, now
	}
}
