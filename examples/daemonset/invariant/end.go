package invariant

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lacking returns how a cluster is not as its sets want it when the history
// ends: its pods, statuses and revisions.
func Lacking(h *History) []Violation {
	j := &judge{index: newIndex(h), history: h}
	j.outcome()
	return j.violations
}

// end checks what there is when the cluster was left alone for long.
func (j *judge) end(quietFrom time.Time) {
	for _, call := range j.history.Calls {
		if call.Decision.At.After(quietFrom) {
			j.violate(Quiet, call.Decision.At, "a request is sent though nothing changes")
			break
		}
	}
	j.outcome()
}

// outcome checks what there is.
func (j *judge) outcome() {
	e := ending{judge: j}
	for _, t := range j.all {
		switch last := t.last().(type) {
		case *appsv1.DaemonSet:
			e.sets = append(e.sets, last)
		case *corev1.Pod:
			e.pods = append(e.pods, last)
		case *corev1.Node:
			e.nodes = append(e.nodes, last)
		case *appsv1.ControllerRevision:
			e.revisions = append(e.revisions, last)
		}
	}
	for _, set := range e.sets {
		if set.DeletionTimestamp == nil {
			e.check(set)
		}
	}
}

// ending is what is left.
type ending struct {
	*judge

	sets      []*appsv1.DaemonSet
	pods      []*corev1.Pod
	nodes     []*corev1.Node
	revisions []*appsv1.ControllerRevision
}

func (e *ending) violate(what Invariant, format string, args ...any) {
	e.judge.violate(what, e.history.End, format, args...)
}

func (e *ending) check(set *appsv1.DaemonSet) {
	hash := e.checkHistory(set)
	e.checkOwners(set)
	want := appsv1.DaemonSetStatus{ObservedGeneration: set.Generation}
	placed := 0
	for _, node := range e.nodes {
		there := e.podsOn(set, node.Name)
		placed += len(there)
		e.checkNode(set, node, there, hash)
		place := placeOf(set, node)
		switch {
		case !place.run && len(there) > 0:
			want.NumberMisscheduled++
		case place.run:
			want.DesiredNumberScheduled++
			count(&want, there, hash)
		}
	}
	if all := len(e.podsOf(set)); all != placed {
		e.violate(Converged, "set %s has %d pods, and %d of them on nodes that exist", set.Name, all, placed)
	}
	want.NumberUnavailable = want.DesiredNumberScheduled - want.NumberAvailable
	if got := set.Status; !sameStatus(&got, &want) {
		e.violate(StatusConverged, "the status of %s is %+v, want %+v", set.Name, got, want)
	}
}

// count adds a node that should have a pod.
func count(status *appsv1.DaemonSetStatus, there []*corev1.Pod, hash string) {
	if len(there) == 0 {
		return
	}
	status.CurrentNumberScheduled++
	if hashOf(there[0]) == hash {
		status.UpdatedNumberScheduled++
	}
	if _, isReady := ready(there[0]); isReady {
		status.NumberReady++
		status.NumberAvailable++
	}
}

func sameStatus(a, b *appsv1.DaemonSetStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration && a.DesiredNumberScheduled == b.DesiredNumberScheduled &&
		a.CurrentNumberScheduled == b.CurrentNumberScheduled && a.NumberMisscheduled == b.NumberMisscheduled &&
		a.NumberReady == b.NumberReady && a.UpdatedNumberScheduled == b.UpdatedNumberScheduled &&
		a.NumberAvailable == b.NumberAvailable && a.NumberUnavailable == b.NumberUnavailable
}

func (e *ending) podsOf(set *appsv1.DaemonSet) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(e.pods), func(pod *corev1.Pod) bool { return controllerOf(pod) != set.UID })
}

func (e *ending) podsOn(set *appsv1.DaemonSet, node string) []*corev1.Pod {
	return slices.DeleteFunc(e.podsOf(set), func(pod *corev1.Pod) bool { return nodeOf(pod) != node })
}

// checkNode checks the pods of a set on a node.
func (e *ending) checkNode(set *appsv1.DaemonSet, node *corev1.Node, there []*corev1.Pod, hash string) {
	place := placeOf(set, node)
	switch {
	case place.run && len(there) != 1, !place.stay && len(there) > 0, len(there) > 1:
		e.violate(Converged, "set %s has %d pods on node %s, where one should run: %t, may stay: %t", set.Name,
			len(there), node.Name, place.run, place.stay)
		return
	}
	for _, pod := range there {
		if _, isReady := ready(pod); !isReady || !stays(pod) {
			e.violate(Converged, "pod %s on node %s is not ready, or leaves", pod.Name, node.Name)
		}
		if !onDelete(set) && hashOf(pod) != hash {
			e.violate(Converged, "pod %s on node %s has hash %s, want %s", pod.Name, node.Name, hashOf(pod), hash)
		}
	}
}

// checkOwners checks that each set has what it selects, and nothing else.
func (e *ending) checkOwners(set *appsv1.DaemonSet) {
	check := func(object metav1.Object) {
		switch {
		case controllerOf(object) == set.UID && !selects(set, object):
			e.violate(Converged, "%s is of set %s, which does not select it", object.GetName(), set.Name)
		case orphan(object) && selects(set, object):
			e.violate(Converged, "%s is an orphan that set %s selects", object.GetName(), set.Name)
		}
	}
	for _, pod := range e.pods {
		check(pod)
	}
	for _, revision := range e.revisions {
		check(revision)
	}
}

// checkHistory checks the revisions of a set, and returns the hash of the
// present one.
func (e *ending) checkHistory(set *appsv1.DaemonSet) string {
	var current *appsv1.ControllerRevision
	var old []*appsv1.ControllerRevision
	for _, r := range e.revisions {
		switch {
		case controllerOf(r) != set.UID:
		case !keeps(r, &set.Spec.Template):
			old = append(old, r)
		case current != nil:
			e.violate(HistoryKept, "revisions %s and %s are of one template", current.Name, r.Name)
		default:
			current = r
		}
	}
	if current == nil {
		e.violate(HistoryKept, "set %s has no revision of its template", set.Name)
		return ""
	}
	carried := map[string]bool{}
	for _, pod := range e.podsOf(set) {
		carried[hashOf(pod)] = true
	}
	for _, r := range old {
		if len(old) > historyLimit(set) && !carried[hashOf(r)] {
			e.violate(HistoryKept, "set %s keeps %d old revisions, and no pod carries %s", set.Name, len(old), r.Name)
		}
		if r.Revision >= current.Revision || hashOf(r) == hashOf(current) {
			e.violate(HistoryKept, "revision %s, number %d, hash %s, is not before %s, number %d, hash %s", r.Name,
				r.Revision, hashOf(r), current.Name, current.Revision, hashOf(current))
		}
	}
	return hashOf(current)
}
