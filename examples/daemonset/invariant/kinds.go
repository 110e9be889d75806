package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Deferral is a task of which nothing was done, because something else comes
// first.
type Deferral struct {
	Life *Life
	At   time.Time
	// Of is the UID of the pod to delete, or that of the node and the revision of
	// the pod to create.
	Of string
}

// soonestRetry is how soon a task is tried again of which nothing was done.
const soonestRetry = 250 * time.Millisecond

// patience checks that what is not done now is tried again later.
func (j *judge) patience() {
	type key struct {
		life *Life
		of   string
	}
	last := map[key]time.Time{}
	for _, d := range j.history.Deferrals {
		of := key{d.Life, d.Of}
		if before, again := last[of]; again && d.At.Sub(before) < soonestRetry {
			j.violate(Patient, d.At, "%s is tried again %s after it was not done", d.Of, d.At.Sub(before))
		}
		last[of] = d.At
	}
}

// UpdatedInPlace reports whether a pod got another image, as when a rollout
// updates it instead of its deletion.
func UpdatedInPlace(before, after *corev1.Pod) bool {
	return before.UID == after.UID && after.DeletionTimestamp == nil && imageOf(before) != imageOf(after)
}

func imageOf(pod *corev1.Pod) string {
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

// restarting reports whether the process knows that it has updated a pod in
// place, and that the pod has not become ready since.
func (s *situation) restarting(pod *corev1.Pod) bool {
	t := s.byName[identity{Pods, pod.Name}]
	for _, change := range t.changes {
		before, after := change.pods()
		if change.By == nil || before == nil || after == nil || !UpdatedInPlace(before, after) ||
			after.UID != pod.UID || hashOf(after) != hashOf(pod) {
			continue
		}
		answered := change.By.Answered && change.By.Ended < s.decision.Order
		was, _ := ready(after)
		since, _ := ready(pod)
		if answered && change.By.Decision.Life == s.decision.Life && since.Equal(was) {
			return true
		}
	}
	return false
}
