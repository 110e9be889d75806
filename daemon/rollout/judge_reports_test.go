package rollout_test

import (
	corev1 "k8s.io/api/core/v1"
)

// selected is what the histories' Updates says.
func selected(node *corev1.Node) bool { return node.Labels["canary"] == "yes" }

// ahead wants what is under way or not observed to be bounded, and creations to
// start slowly after a failure.
func (j *judge) ahead(w *wants, plan *plan) {
	unseen, asked := 0, 0
	for _, p := range w.pods {
		if p.made && !p.observed {
			unseen++
		}
		if p.asked || w.deleting[p.object.UID] {
			asked++
		}
	}
	switch {
	case len(plan.Create) > 0 && len(w.creating)+unseen > w.Burst:
		j.violate(
			NeverRunsAhead,
			"%d creations are under way and %d not observed, want %d at most",
			len(w.creating),
			unseen,
			w.Burst,
		)
	case len(plan.Delete) > 0 && asked > w.Burst:
		j.violate(
			NeverRunsAhead,
			"%d deletions are under way or not observed, want %d at most",
			asked,
			w.Burst,
		)
	case len(plan.Create) > 0 && len(w.creating) > 1+j.refused.succeeded:
		j.violate(
			NeverRunsAhead,
			"%d creations are under way, and %d have succeeded since one has failed",
			len(w.creating),
			j.refused.succeeded,
		)
	}
}

// report records how a step ended.
func (j *judge) report(p *process, r *ended) {
	k := p.knowledge
	switch {
	case r.Create != nil:
		delete(k.creating, r.Create.Node)
		j.trace(
			"report: creation for %s: pod %v, taken %v, %v",
			r.Create.Node,
			nameOf(r.Pod),
			r.Taken,
			r.Err,
		)
		j.reportCreation(k, r)
	case r.Delete != nil:
		delete(k.deleting, r.Delete.UID)
		j.trace("report: deletion of %s: gone %v, %v", r.Delete.Pod, r.Gone, r.Err)
		j.reportDeletion(k, r)
	case r.Refresh != nil:
		j.trace("report: refresh %s: %v, gone %v, %v", r.Refresh.Pod, nameOf(r.Pod), r.Gone, r.Err)
		j.reportRefresh(k, r)
	}
}

func (j *judge) reportDeletion(k *knowledge, r *ended) {
	kept := j.undone[r.Delete.UID]
	if r.Refused || r.NotNow || r.Err != nil {
		kept.inRow, kept.last = kept.inRow+1, j.now
		j.undone[r.Delete.UID] = kept
	}
	if r.Refused || r.Err != nil {
		j.failed = j.now
	}
	known := k.pod(r.Delete.UID)
	switch {
	case r.Refused || r.NotNow || known == nil:
	case r.Updated:
		j.updated(known, r)
	default:
		known.asked, known.lost = known.object.DeletionTimestamp == nil, r.Err != nil
		if r.Gone {
			k.forget(r.Delete.UID)
		}
	}
}

// updated takes that a pod was updated in place. Only what the watch has not shown
// is news.
func (j *judge) updated(known *knownPod, r *ended) {
	delete(j.undone, r.Delete.UID)
	// A call that is sent again may find what the former one has done, and that
	// the pod has restarted since.
	same, again := sameReadiness(known.object, r.Pod), known.asked && known.lost
	isNews := versionOf(r.Pod) > versionOf(known.object)
	if !again || revisionOf(known.object) != r.Spec.Revision {
		known.restarting = same || isNews && !again
	}
	if isNews {
		known.object = r.Pod
	}
	known.asked = false
}

func (j *judge) reportRefresh(k *knowledge, r *ended) {
	switch {
	case r.Gone:
		k.forget(r.Refresh.UID)
	case r.Released:
		k.drop(r.Refresh.UID)
	case r.Pod != nil:
		k.see(r.Pod, j.targets[r.Pod.UID], true)
		if known := k.pod(r.Refresh.UID); known != nil && known.reading {
			known.asked, known.reading = false, false
		}
	default: // it has failed; the answer of one that a deletion has overtaken says nothing
		if known := k.pod(r.Refresh.UID); known != nil {
			known.reading = false
		}
	}
}

func (j *judge) reportCreation(k *knowledge, r *ended) {
	node := r.Create.Node
	if r.Err == nil && !r.NotNow &&
		k.doubtful[node].Revision == r.Create.Revision { // a refusal says nothing of the try before
		delete(k.doubtful, node)
	}
	switch {
	case r.Pod != nil:
		if k.pod(r.Pod.UID) == nil {
			k.see(r.Pod, j.targets[r.Pod.UID], false)
		}
		j.refused.succeeded++
		j.refused.inRow, j.refused.alone = 0, false
		delete(j.denied, node)
	case r.Err != nil, r.Taken, r.NotNow:
		if r.Err != nil && !r.Refused && !k.shown[node] {
			k.doubtful[node] = unanswered{*r.Create, j.now}
		}
		if object := k.nodes[node]; object != nil && j.handed[node].After(j.refused.forgiven) {
			denied := j.denied[node]
			if denied.machine != object.UID {
				denied = refusals{machine: object.UID}
			}
			denied.inRow, denied.last, denied.alone = denied.inRow+1, j.now, true
			j.denied[node] = denied
		}
		if r.NotNow {
			return
		}
		j.failed = j.now
		j.refused.succeeded = 0
		if handed := j.handed[node]; !handed.After(j.refused.forgiven) || !handed.After(j.refused.last) {
			return // it counts with an earlier one
		}
		j.refused.inRow++
		j.refused.last = j.now
		j.refused.alone = true
	}
}

func nameOf(pod *corev1.Pod) string {
	if pod == nil {
		return "none"
	}
	return pod.Name
}
