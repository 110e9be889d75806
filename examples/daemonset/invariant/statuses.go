package invariant

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// statusWrite checks a write to the status of a set.
func (j *judge) statusWrite(change *Change) {
	before, _ := change.Before.(*appsv1.DaemonSet)
	after, _ := change.After.(*appsv1.DaemonSet)
	if before == nil || after == nil {
		j.violate(OthersUntouched, change.At, "set %s is created or deleted", change.Object().GetName())
		return
	}
	if before.Generation != after.Generation {
		j.violate(OthersUntouched, change.At, "the spec of set %s is written", after.Name)
	}
	observed, shown := after.Status.ObservedGeneration, before.Status.ObservedGeneration
	for _, set := range j.setsKnown(change.By.Decision, after.UID) {
		shown = min(shown, set.Status.ObservedGeneration)
	}
	if observed < shown || observed > after.Generation {
		j.violate(StatusTrue, change.At, "set %s, generation %d: observedGeneration is %d and was %d", after.Name,
			after.Generation, observed, shown)
	}
	counts, former := after.Status, before.Status
	counts.CollisionCount = former.CollisionCount
	counts.ObservedGeneration = former.ObservedGeneration
	if observed == former.ObservedGeneration && counts.DesiredNumberScheduled == former.DesiredNumberScheduled {
		return
	}
	spec := j.generation(after, observed)
	if spec == nil {
		return
	}
	nodes := j.nodesKnown(change.By.Decision)
	if desired := countRun(spec, nodes); int(after.Status.DesiredNumberScheduled) != desired {
		j.violate(StatusTrue, change.At, "set %s: desiredNumberScheduled is %d of generation %d, want %d", after.Name,
			after.Status.DesiredNumberScheduled, observed, desired)
	}
}

// generation returns a set as it was in a generation, or nil.
func (j *judge) generation(set *appsv1.DaemonSet, generation int64) *appsv1.DaemonSet {
	for _, change := range j.setsByUID[set.UID].changes {
		if found, ok := change.After.(*appsv1.DaemonSet); ok && found.UID == set.UID && found.Generation == generation {
			return found
		}
	}
	return nil
}

func countRun(set *appsv1.DaemonSet, nodes map[string]*corev1.Node) int {
	count := 0
	for _, node := range nodes {
		if placeOf(set, node).run {
			count++
		}
	}
	return count
}
