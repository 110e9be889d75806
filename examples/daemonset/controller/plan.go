package controller

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// own compiles the selector of a set, and decides again about all objects that
// the set may own.
func (c *Controller) own(now time.Time, r *record) {
	r.own, r.problem = ownership.NewOwnership(r.set.Source.Owner)
	if r.problem == nil {
		r.problem = r.set.Source.Validate()
	}
	if r.own == nil {
		return
	}
	r.podClaims = make(map[string]*corev1.Pod)
	for pod := range c.podsFor(r) {
		c.considerPod(r, pod)
	}
	c.considerRevisions(now, r)
}

// podsFor returns the pods that a set controls, and the orphans of its
// namespace.
func (c *Controller) podsFor(r *record) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, g := range []group{r.group, {namespace: r.group.namespace}} {
			for _, pod := range c.pods.groups[g] {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

// considerPod records whether a set has to adopt or release a pod.
func (c *Controller) considerPod(r *record, pod *corev1.Pod) {
	if r.own == nil {
		return
	}
	switch r.own.Claim(pod).Action {
	case ownership.ActionAdopt, ownership.ActionRelease:
		r.podClaims[pod.Name] = pod
	case ownership.ActionKeep, ownership.ActionIgnore:
		delete(r.podClaims, pod.Name)
	}
}

// considerRevisions records which revisions a set has, and which it has to
// adopt or release.
func (c *Controller) considerRevisions(now time.Time, r *record) {
	if r.own == nil {
		return
	}
	var cached []*appsv1.ControllerRevision
	for _, g := range []group{r.group, {namespace: r.group.namespace}} {
		cached = slices.AppendSeq(cached, maps.Values(c.revisions.groups[g]))
	}
	slices.SortFunc(cached, func(a, b *appsv1.ControllerRevision) int { return strings.Compare(a.Name, b.Name) })
	r.revisionClaims, r.history = nil, nil
	for _, revision := range r.written.Merge(now, cached) {
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

// compute returns what is to be done about the history of a set. A revision
// stays while a pod carries it that only the answer to our creation has shown.
func (c *Controller) compute(r *record) (revision.Plan, error) {
	pods := func(yield func(*corev1.Pod) bool) {
		for _, pod := range c.pods.groups[r.group] {
			if !yield(pod) {
				return
			}
		}
		for _, pod := range r.made {
			if !yield(pod) {
				return
			}
		}
	}
	return revision.Compute(r.set.Source, r.history, pods)
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
		return
	}
	config := c.config.Planner
	config.Owner, config.Nodes, config.Spec = r.uid, &c.nodes, spec
	planner, err := daemon.NewPlanner(config, now)
	if err != nil {
		r.problem = err
		return
	}
	r.planner, r.planned = planner, r.set.Source.Owner.Object.GetGeneration()
	pods := c.pods.groups[r.group]
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		planner.ObservePod(now, pods[name])
	}
}

// closePlanner removes the planner of a set that is gone or being deleted.
func (r *record) closePlanner() {
	if r.planner != nil {
		r.planner.Close()
		r.planner = nil
	}
}

// allProblems joins what is wrong with a set.
func (r *record) allProblems() error {
	if r.planner == nil {
		return r.problem
	}
	return errors.Join(r.problem, r.planner.Problems())
}
