package invariant

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// states are what an object may be for all that a life could know. A nil among
// them means that there may be no such object. Mostly there is one state.
type states []metav1.Object

// known returns the states of a name at a decision. They follow from what the
// watch had shown. On top come the life's own writes and the objects of
// answers. A life must count a write as done from the moment of its decision. A
// creation whose answer was lost may be done or not.
func (t *timeline) known(d *Decision) states {
	at := d.Seen[t.kind]
	all := states{t.at(at)}
	for _, change := range t.changes {
		if own := change.By; change.Version > at && own != nil && own.Decision.Life == d.Life &&
			own.Decision.Order < d.Order && change.certain() && !t.sentAgain(change, d) {
			if t.doubtful(change, d) || change.finds(all[0]) && own.Ended > d.Order {
				all = append(all, change.After)
			} else {
				all = states{change.After}
			}
			at = change.Version
		}
	}
	for _, call := range t.answers {
		if call.Decision.Life == d.Life && call.Ended < d.Order && call.version() > at {
			all = append(all, call.Answer)
		}
	}
	return all
}

// certain reports whether a life knows the effect of its write even without an
// answer: it creates or deletes the object.
func (c *Change) certain() bool {
	return c.Before == nil || c.After == nil ||
		c.After.GetDeletionTimestamp() != nil && c.Before.GetDeletionTimestamp() == nil
}

// lostTo reports whether a write is a creation whose answer a life has not got.
func (c *Change) lostTo(d *Decision) bool {
	return c.Before == nil && !c.By.Answered && c.By.Ended > 0 && c.By.Ended < d.Order
}

// doubtful reports whether a life cannot know of a creation whether it was done.
func (t *timeline) doubtful(c *Change, d *Decision) bool { return c.lostTo(d) && !t.resolved(c, d) }

// finds reports whether a write creates an object whose name another one has, as
// the watch has shown. Without an answer the life knows that one.
func (c *Change) finds(shown metav1.Object) bool {
	return c.Before == nil && shown != nil && shown.GetUID() != c.After.GetUID()
}

// resolved reports whether a life has been answered since what a creation has
// led to.
func (t *timeline) resolved(c *Change, d *Decision) bool {
	return slices.ContainsFunc(t.answers, func(call *Call) bool {
		return call.Decision.Life == d.Life && call.Ended < d.Order && call.version() >= c.Version
	})
}

// sentAgain reports whether a life has sent a creation again after one without an
// answer, and was answered. It need not expect that the first one arrives all the
// same, after the pod of the second has gone. Such a pod is one too many, and has
// to go when a watch shows it.
func (t *timeline) sentAgain(c *Change, d *Decision) bool {
	return c.lostTo(d) && slices.ContainsFunc(t.changes, func(other *Change) bool {
		return other.Before == nil && other.By != nil && other.By.Decision.Life == d.Life &&
			other.By.Decision.Order > c.By.Decision.Order && other.By.Answered && other.By.Ended < d.Order
	})
}

// unanswered reports whether a life has created an object, as far as it knows
// without the answer.
func (t *timeline) unanswered(d *Decision) bool {
	return slices.ContainsFunc(t.changes, func(c *Change) bool {
		return c.By != nil && c.By.Decision.Life == d.Life && c.By.Decision.Order < d.Order && c.Before == nil &&
			c.Version > d.Seen[t.kind] && (!c.By.Answered || c.By.Ended > d.Order) && !t.resolved(c, d) &&
			!t.sentAgain(c, d)
	})
}

// typed returns the states of a type that exist.
func typed[T metav1.Object](all states) []T {
	var found []T
	for _, state := range all {
		if object, ok := state.(T); ok {
			found = append(found, object)
		}
	}
	return found
}

// setsKnown returns the states of a set that is not being deleted.
func (x *index) setsKnown(d *Decision, uid types.UID) []*appsv1.DaemonSet {
	t := x.setsByUID[uid]
	if t == nil {
		return nil
	}
	sets := typed[*appsv1.DaemonSet](t.known(d))
	return slices.DeleteFunc(sets, func(set *appsv1.DaemonSet) bool {
		return set.UID != uid || set.DeletionTimestamp != nil
	})
}

// nodesKnown returns the nodes by name.
func (x *index) nodesKnown(d *Decision) map[string]*corev1.Node {
	nodes := map[string]*corev1.Node{}
	for _, t := range x.all {
		if t.kind != Nodes {
			continue
		}
		if node, ok := t.at(d.Seen[Nodes]).(*corev1.Node); ok {
			nodes[node.Name] = node
		}
	}
	return nodes
}

// candidate is a pod of a set as a life knows it.
type candidate struct {
	name   string
	states []*corev1.Pod // never empty
	doubt  bool          // it may be gone, or not be the set's
	// unanswered: the life has created it, and has not got the answer.
	unanswered bool
}

// surely reports whether all states are so and the pod exists.
func (c *candidate) surely(is func(*corev1.Pod) bool) bool {
	return !c.doubt && !slices.ContainsFunc(c.states, func(pod *corev1.Pod) bool { return !is(pod) })
}

// counts reports whether a life has to act as if the pod exists and is so. A
// creation of its own that was not answered counts as done: it may be done
// already, or later.
func (c *candidate) counts(is func(*corev1.Pod) bool) bool {
	return c.surely(is) || c.unanswered && c.maybe(is)
}

// maybe reports whether a state is so.
func (c *candidate) maybe(is func(*corev1.Pod) bool) bool { return slices.ContainsFunc(c.states, is) }

// podsKnown returns the pods that a set has or may have.
func (x *index) podsKnown(d *Decision, uid types.UID) []*candidate {
	var pods []*candidate
	for _, t := range x.byOwner[uid] {
		if t.kind != Pods {
			continue
		}
		all := t.known(d)
		own := slices.DeleteFunc(typed[*corev1.Pod](all), func(pod *corev1.Pod) bool { return controllerOf(pod) != uid })
		if len(own) > 0 {
			pods = append(pods, &candidate{t.name, own, len(own) < len(all), t.unanswered(d)})
		}
	}
	return pods
}

// revisionsKnown returns the revisions that a set has or may have.
func (x *index) revisionsKnown(d *Decision, uid types.UID) (surely, maybe []*appsv1.ControllerRevision) {
	for _, t := range x.byOwner[uid] {
		if t.kind != Revisions {
			continue
		}
		all := t.known(d)
		own := slices.DeleteFunc(typed[*appsv1.ControllerRevision](all), func(r *appsv1.ControllerRevision) bool {
			return controllerOf(r) != uid || r.DeletionTimestamp != nil
		})
		if len(own) > 0 {
			maybe = append(maybe, own[0])
		}
		if len(own) == len(all) {
			surely = append(surely, own[0])
		}
	}
	return surely, maybe
}
