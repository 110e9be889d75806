package controller

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// own compiles a set that is new or has another spec.
func (c *Controller) own(r *record) {
	r.own, r.problem = ownership.NewOwnership(r.set.Source.Owner)
	if r.problem == nil {
		r.problem = r.set.Source.Validate()
	}
}

// compareAll has all objects that the set may own compared with its selector.
func (c *Controller) compareAll(r *record) {
	r.podClaims, r.uncompared = list[*corev1.Pod]{}, uncompared{}
	if r.own != nil {
		r.uncompared = uncompared{
			own:       len(c.pods.groups[r.group].all()),
			orphans:   len(c.pods.groups[r.orphans()].all()),
			revisions: true,
		}
	}
}

// orphans returns the group from which a set may adopt.
func (r *record) orphans() group { return group{namespace: r.group.namespace} }

// compare decides about the objects that the set may own, as many as the turn
// may visit.
func (c *Controller) compare(r *record) {
	if r.uncompared.revisions {
		r.uncompared.revisions = false
		c.considerRevisions(r)
	}
	consider := func(pod *corev1.Pod) { c.considerPod(r, pod) }
	c.slice(c.pods.groups[r.group].all(), &r.uncompared.own, consider)
	c.slice(c.pods.groups[r.orphans()].all(), &r.uncompared.orphans, consider)
}

// fill has a new planner observe the pods of its set, as many as the turn may
// visit.
func (c *Controller) fill(now time.Time, r *record) {
	c.slice(c.pods.groups[r.group].all(), &r.unfilled, func(pod *corev1.Pod) { r.planner.ObservePod(now, pod) })
}

// slice visits the last of the pods that are left, as many as the turn may
// visit.
func (c *Controller) slice(pods []*corev1.Pod, left *int, visit func(*corev1.Pod)) {
	*left = min(*left, len(pods))
	for ; *left > 0 && c.left > 0; c.left-- {
		*left--
		visit(pods[*left])
	}
}

// considerPod records whether a set has to adopt or release a pod.
func (c *Controller) considerPod(r *record, pod *corev1.Pod) {
	if r.own == nil {
		return
	}
	switch r.own.Claim(pod).Action {
	case ownership.ActionAdopt, ownership.ActionRelease:
		r.podClaims.put(pod)
	case ownership.ActionKeep, ownership.ActionIgnore:
		r.podClaims.remove(pod.Name)
	}
}

// considerRevisions records which revisions a set has, and which it has to
// adopt or release.
func (c *Controller) considerRevisions(r *record) {
	if r.own == nil {
		return
	}
	var known []*appsv1.ControllerRevision
	for _, g := range []group{r.group, r.orphans()} {
		known = append(known, c.revisions.groups[g].all()...)
	}
	c.left -= len(known)
	slices.SortFunc(known, func(a, b *appsv1.ControllerRevision) int { return strings.Compare(a.Name, b.Name) })
	r.revisionClaims, r.history = nil, nil
	for _, revision := range known {
		switch r.own.Claim(revision).Action {
		case ownership.ActionAdopt, ownership.ActionRelease:
			r.revisionClaims = append(r.revisionClaims, revision)
		case ownership.ActionKeep:
			r.history = append(r.history, revision)
		case ownership.ActionIgnore:
		}
	}
	if r.hash != "" && !slices.ContainsFunc(r.history, r.isCurrent) {
		// Its pods would be replaced by those of a revision that the set has lost,
		// and these again by those of the next one.
		r.hash = ""
	}
}

// compute returns what is to be done about the history of a set.
func (c *Controller) compute(r *record) (revision.Plan, error) {
	visited := 0
	pods := func(yield func(*corev1.Pod) bool) {
		for pod := range c.carriers(r) {
			visited++
			if !yield(pod) {
				return
			}
		}
	}
	plan, err := revision.Compute(r.set.Source, r.history, pods)
	c.left -= visited
	r.spare(&plan)
	return plan, err
}

// spare keeps the revisions whose pods are being created. Neither the watch nor
// an answer has shown these.
func (r *record) spare(plan *revision.Plan) {
	r.spared = false
	plan.Delete = slices.DeleteFunc(plan.Delete, func(d revision.Deletion) bool {
		creating := r.creating[hashOf(d.Revision)] > 0
		r.spared = r.spared || creating
		return creating
	})
}

// enoughCarriers is for how many pods of one hash a plan is computed. One keeps
// a revision. One more than a task relabels shows that there are more.
const enoughCarriers = reviseRequests + 1

// carriers returns enough of the pods that carry a hash of the history. A
// revision also stays while a pod carries it that only the answer to our
// creation has shown. Of these there are a few bursts at most.
func (c *Controller) carriers(r *record) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		visited := make(map[string]bool, len(r.history))
		for _, of := range r.history {
			hash := hashOf(of)
			if visited[hash] {
				continue
			}
			visited[hash] = true
			all := c.pods.groups[r.group].carrying(hash)
			for _, pod := range all[:min(len(all), enoughCarriers)] {
				if !yield(pod) {
					return
				}
			}
		}
		for _, pod := range r.made {
			if !yield(pod) {
				return
			}
		}
	}
}

// plan has the planner plan for the spec of a set and the hash of its template.
// The first time it makes the planner.
func (c *Controller) plan(now time.Time, r *record, hash string) {
	r.hash, r.revised = hash, r.set.version()
	spec := r.set.Spec
	spec.Revision = hash
	if r.planner != nil {
		if r.planner.SetSpec(now, spec) == nil {
			r.planned = r.set.Source.Owner.Object.GetGeneration()
		}
		c.tellOnce(r, ReasonRolloutStopped, r.planner.Stopped())
		return
	}
	config := c.config.Planner
	config.Owner, config.Nodes, config.Spec = r.uid, &c.nodes, spec
	planner, err := rollout.NewPlanner(config, now)
	if err != nil {
		r.problem = err
		return
	}
	r.planner, r.planned = planner, r.set.Source.Owner.Object.GetGeneration()
	r.unfilled = len(c.pods.groups[r.group].all())
	if c.halted {
		planner.Halt(now)
	}
	c.tellOnce(r, ReasonRolloutStopped, planner.Stopped())
}

// closePlanner removes the planner of a set that is gone or being deleted.
func (r *record) closePlanner() {
	if r.planner != nil {
		r.planner.Close()
		r.planner, r.unfilled = nil, 0
	}
}

// allProblems joins what is wrong with a set.
func (r *record) allProblems() error {
	if r.planner == nil {
		return r.problem
	}
	return errors.Join(r.problem, r.planner.Problems())
}
