package controller

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Claim adopts and releases. Each object needs one patch.
type Claim struct {
	// Owner is the set as it was when the task started.
	Owner     ownership.Owner
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
	// Read says that an earlier claim has read the set a moment ago. So this one
	// adopts without a read.
	Read bool

	begun
	at time.Time // when it was handed out
}

// Claimed is what a [Claim] has done.
type Claimed struct {
	Pods      ownership.Claimed[*corev1.Pod]
	Revisions ownership.Claimed[*appsv1.ControllerRevision]
	// Read says that the set was read, or that this was spared, and may adopt.
	Read bool
}

// freshFor is how long a read of a set serves its adoptions, from when the claim
// was handed out that has sent it. kube-controller-manager reads a set once a
// pass, which lasts as long as its adoptions do. A set that was deleted meanwhile
// claims no more when the watch shows that, mostly long before.
const freshFor = 10 * time.Second

// A claimer is the core of the claims.
type claimer struct{ *Controller }

// Start hands out some of the objects that a set has to adopt or release.
func (c claimer) Start(now time.Time) (Claim, bool) {
	item, ok := c.claims.Start(now)
	if !ok {
		return Claim{}, false
	}
	claim := item.Value.nextClaim(now)
	claim.begun, claim.at = begun{item.Value, item}, now
	return claim, true
}

// Next returns when a set may next claim.
func (c claimer) Next(now time.Time) (time.Time, bool) { return c.claims.Next(now) }

// Finish takes the result of a claim.
func (c claimer) Finish(now time.Time, claim Claim, result Result[Claimed]) {
	if !c.ended(claim.begun) {
		c.claims.Finish(now, claim.item, outcomeOf(nil))
		return
	}
	r, failure, done := claim.of, result.Failed(), result.done()
	c.claims.Finish(now, claim.item, outcomeOf(failure))
	switch {
	case failure != nil:
		r.claimFrom += len(claim.Revisions) + len(claim.Pods)
		r.readAt = time.Time{}
	case done.Read && !claim.Read:
		r.readAt = claim.at
	}
	if failure == nil {
		c.forgetUnclaimed(now, claim, done)
	}
	c.considerRevisions(r)
	c.enter(now, r)
}

// nextClaim returns as many objects as one task may claim.
func (r *record) nextClaim(now time.Time) Claim {
	claim := Claim{Owner: r.set.Source.Owner, Read: now.Sub(r.readAt) < freshFor}
	revisions := len(r.revisionClaims)
	all := revisions + len(r.podClaims.objects)
	room := claimRequests
	if !claim.Read {
		room--
	}
	for i := range min(all, room) {
		if at := (r.claimFrom + i) % all; at < revisions {
			claim.Revisions = append(claim.Revisions, r.revisionClaims[at])
		} else {
			claim.Pods = append(claim.Pods, r.podClaims.objects[at-revisions])
		}
	}
	return claim
}

// forgetUnclaimed forgets objects that a claim has found to be gone: no error,
// and no patch either. The watch shows their end later. If it has shown a newer
// version meanwhile, that one counts.
func (c *Controller) forgetUnclaimed(now time.Time, claim Claim, done Claimed) {
	for _, pod := range claim.Pods {
		same := func(other *corev1.Pod) bool { return other.UID == pod.UID }
		if !slices.ContainsFunc(done.Pods.Adopted, same) && !slices.ContainsFunc(done.Pods.Released, same) {
			if c.pods.known[keyOf(pod)] == pod {
				c.ForgetPod(now, pod)
			}
		}
	}
	for _, revision := range claim.Revisions {
		same := func(other *appsv1.ControllerRevision) bool { return other.UID == revision.UID }
		if !slices.ContainsFunc(done.Revisions.Adopted, same) &&
			!slices.ContainsFunc(done.Revisions.Released, same) {
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
