package controller

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// claim hands out some of the objects that a set has to adopt or release.
func (c *Controller) claim(now time.Time) (Task, bool) {
	item, ok := c.claims.Start(now)
	if !ok {
		return Task{}, false
	}
	r := item.Value
	return Task{Owner: r.set.Source.Owner, Action: r.nextClaim(), of: r, item: item}, true
}

// nextClaim returns as many objects as one task may claim.
func (r *record) nextClaim() Claim {
	var action Claim
	revisions := len(r.revisionClaims)
	all := revisions + len(r.podClaims.objects)
	for i := range min(all, claimRequests-1) { // one request reads the set
		if at := (r.claimFrom + i) % all; at < revisions {
			action.Revisions = append(action.Revisions, r.revisionClaims[at])
		} else {
			action.Pods = append(action.Pods, r.podClaims.objects[at-revisions])
		}
	}
	return action
}

func (c *Controller) finishClaim(now time.Time, task *Task, action Claim, result *Result) {
	r, failure := task.of, result.Failed(action)
	c.claims.Finish(now, task.item, outcomeOf(failure))
	if failure != nil {
		r.claimFrom += len(action.Revisions) + len(action.Pods)
	}
	if failure == nil {
		c.forgetUnclaimed(now, action, result)
	}
	c.considerRevisions(r)
	c.enter(now, r)
}

// forgetUnclaimed forgets objects that a claim has found to be gone: no error,
// and no patch either. The watch shows their end later. If it has shown a newer
// version meanwhile, that one counts.
func (c *Controller) forgetUnclaimed(now time.Time, action Claim, result *Result) {
	for _, pod := range action.Pods {
		same := func(other *corev1.Pod) bool { return other.UID == pod.UID }
		if !slices.ContainsFunc(result.Pods.Adopted, same) && !slices.ContainsFunc(result.Pods.Released, same) {
			if c.pods.known[keyOf(pod)] == pod {
				c.ForgetPod(now, pod)
			}
		}
	}
	for _, revision := range action.Revisions {
		same := func(other *appsv1.ControllerRevision) bool { return other.UID == revision.UID }
		if !slices.ContainsFunc(result.Revisions.Adopted, same) &&
			!slices.ContainsFunc(result.Revisions.Released, same) {
			if c.revisions.known[keyOf(revision)] == revision {
				c.ForgetRevision(now, revision)
			}
		}
	}
}

// outcomeOf returns what a queue has to know of a task.
func outcomeOf(failure error) timedqueue.Result {
	if failure != nil {
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed}
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
}
