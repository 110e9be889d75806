package invariant

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// judge checks one history.
type judge struct {
	*index

	history    *History
	violations []Violation
}

// Check returns what a history breaks, in the order in which it happened. The
// history must end long after the last thing that has happened to the cluster.
// From quietFrom on no request may be sent.
func Check(h *History, quietFrom time.Time) []Violation {
	j := &judge{index: newIndex(h), history: h}
	for _, change := range h.Changes {
		if change.By == nil {
			continue
		}
		switch change.Kind {
		case Pods:
			j.podWrite(change)
		case Revisions:
			j.revisionWrite(change)
		case Sets:
			j.statusWrite(change)
		default:
			j.violate(OthersUntouched, change.At, "node %s was written", change.Object().GetName())
		}
	}
	j.pace()
	j.patience()
	j.budget()
	j.end(quietFrom)
	slices.SortStableFunc(j.violations, func(a, b Violation) int { return a.At.Compare(b.At) })
	return j.violations
}

func (j *judge) violate(what Invariant, at time.Time, format string, args ...any) {
	j.violations = append(j.violations, Violation{what, at, fmt.Sprintf(format, args...)})
}

func (j *judge) podWrite(change *Change) {
	before, after := change.pods()
	switch {
	case before == nil:
		j.creation(change, after)
	case leaving(before): // only its end is left
	case after == nil || leaving(after), UpdatedInPlace(before, after):
		j.deletion(change, before)
	default:
		j.claim(change)
	}
}

// claim checks a write that gives an object an owner, or takes one off.
func (j *judge) claim(change *Change) {
	from, to, d := controllerOf(change.Before), controllerOf(change.After), change.By.Decision
	if from == to {
		return
	}
	t := j.byName[identity{change.Kind, change.After.GetName()}]
	// Its own deletion, which may be under way, says nothing of the owner.
	known := typed[metav1.Object](append(t.known(d), t.at(d.Seen[t.kind])))
	for _, call := range t.answers { // a task may read before it writes
		if call.Decision == d && call.Answer != nil && call.version() < change.Version {
			known = append(known, call.Answer)
		}
	}
	owner := to
	if to == "" {
		owner = from
	}
	for _, set := range j.setsKnown(d, owner) {
		for _, object := range known {
			if object.GetUID() == change.After.GetUID() && claims(set, object, to != "") {
				return
			}
		}
	}
	j.violate(OthersUntouched, change.At, "%s %s of %q is given to %q without a reason", change.Kind,
		change.After.GetName(), from, to)
}

// claims reports whether a set adopts, or releases, an object that it knows.
func claims(set *appsv1.DaemonSet, object metav1.Object, adopts bool) bool {
	if adopts {
		return orphan(object) && selects(set, object) && object.GetDeletionTimestamp() == nil
	}
	return controllerOf(object) == set.UID && !selects(set, object)
}

func labelsOf(object metav1.Object) labels.Set { return object.GetLabels() }
