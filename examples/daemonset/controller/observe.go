package controller

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// ObserveSet records a set as it is now. It keeps the pointers; what they point
// to must not be changed afterwards.
func (c *Controller) ObserveSet(now time.Time, set Set) {
	r := c.sets[set.UID()]
	if r == nil {
		c.addSet(now, set)
		return
	}
	former := r.set.Source.Owner
	r.set = set
	c.ownAgain(r, former)
	if r.planner != nil && r.problem == nil && r.hash != "" && r.revised == set.version() {
		c.plan(now, r, r.hash) // annotations count, too
	}
	c.enter(now, r)
	if former.Object.GetGeneration() != set.Source.Owner.Object.GetGeneration() {
		c.reviseNow(r)
	}
}

// reviseNow ends a back-off that was for another template, which may have been
// what the API server has refused.
func (c *Controller) reviseNow(r *record) {
	c.revises.Retry(r.uid)
}

// ownAgain compiles a set again that has changed. Its objects are compared
// again only if that makes a difference: a selector seldom changes.
func (c *Controller) ownAgain(r *record, former ownership.Owner) {
	owner, compiled := r.set.Source.Owner, r.own != nil
	terminates := (former.Object.GetDeletionTimestamp() == nil) != (owner.Object.GetDeletionTimestamp() == nil)
	if terminates || former.Object.GetGeneration() != owner.Object.GetGeneration() {
		c.own(r)
	}
	if terminates || compiled != (r.own != nil) || !equality.Semantic.DeepEqual(former.Selector, owner.Selector) {
		c.compareAll(r)
	}
}

func (c *Controller) addSet(now time.Time, set Set) {
	namespace := set.Source.Owner.Object.GetNamespace()
	r := &record{
		uid: set.UID(), group: group{namespace, set.UID()}, set: set, phase: phaseWaiting,
		creating: make(map[string]int), made: make(map[types.UID]*corev1.Pod),
		pace: newPace(c.config.StatusInterval, now),
	}
	c.sets[r.uid] = r
	c.inOrder = append(c.inOrder, r)
	c.inNamespace[namespace] = append(c.inNamespace[namespace], r)
	c.own(r)
	c.compareAll(r)
	c.enter(now, r)
}

// ForgetSet records that a set is gone. Its pods are left alone.
func (c *Controller) ForgetSet(now time.Time, uid types.UID) {
	r := c.sets[uid]
	if r == nil {
		return
	}
	r.closePlanner()
	for pod := range r.made {
		c.made.Remove(pod)
	}
	for _, q := range []*queue{c.claims, c.revises, c.statuses, c.ready, c.visits} {
		q.Advance(now)
		q.Remove(uid)
	}
	delete(c.sets, uid)
	is := func(other *record) bool { return other == r }
	c.inOrder = slices.DeleteFunc(c.inOrder, is)
	namespace := r.group.namespace
	c.inNamespace[namespace] = slices.DeleteFunc(c.inNamespace[namespace], is)
	if len(c.inNamespace[namespace]) == 0 {
		delete(c.inNamespace, namespace)
	}
}

// ObservePod records a pod as it is now. Pods that no set can own cost nothing
// afterwards. It keeps the pointer; the pod must not be changed afterwards.
func (c *Controller) ObservePod(now time.Time, pod *corev1.Pod) {
	c.shown(pod)
	relabelled := c.pods.relabels(pod) // the last one of a revision, perhaps
	if left, moved := c.pods.observe(pod); moved {
		c.podLeft(now, left, pod)
	}
	in, kept := c.pods.groupOf(pod)
	if !kept {
		return
	}
	for _, r := range c.ownersOf(in) {
		c.considerPod(r, pod)
		if r.planner != nil && in == r.group {
			r.planner.ObservePod(now, pod)
		}
		c.enter(now, r)
		if relabelled && r.excess() {
			c.tidy(now, r)
		}
	}
}

// ForgetPod records that a pod is gone.
func (c *Controller) ForgetPod(now time.Time, pod *corev1.Pod) {
	c.shown(pod)
	if left, ok := c.pods.forget(pod); ok {
		c.podLeft(now, left, pod)
	}
}

// podLeft records that a pod is not in a group any more.
func (c *Controller) podLeft(now time.Time, left group, pod *corev1.Pod) {
	for _, r := range c.ownersOf(left) {
		r.podClaims.remove(pod.Name)
		if r.planner != nil && left == r.group {
			r.planner.ForgetPod(now, pod)
		}
		c.enter(now, r)
		if r.excess() {
			c.tidy(now, r)
		}
	}
}

// ownersOf returns the sets that own the objects of a group, or that may adopt
// them.
func (c *Controller) ownersOf(g group) []*record {
	if g.owner == "" {
		return c.inNamespace[g.namespace]
	}
	if r := c.sets[g.owner]; r != nil && r.group == g {
		return []*record{r}
	}
	return nil
}

// ObserveRevision records a revision as it is now. It keeps the pointer; the
// revision must not be changed afterwards.
func (c *Controller) ObserveRevision(now time.Time, revision *appsv1.ControllerRevision) {
	if left, moved := c.revisions.observe(revision); moved {
		c.revisionsChanged(now, left)
	}
	if in, kept := c.revisions.groupOf(revision); kept {
		c.revisionsChanged(now, in)
	}
}

// ForgetRevision records that a revision is gone.
func (c *Controller) ForgetRevision(now time.Time, revision *appsv1.ControllerRevision) {
	if left, ok := c.revisions.forget(revision); ok {
		c.revisionsChanged(now, left)
	}
}

func (c *Controller) revisionsChanged(now time.Time, in group) {
	if !c.synced {
		return // the first visit considers all of them
	}
	for _, r := range c.ownersOf(in) {
		c.considerRevisions(r)
		c.enter(now, r)
		c.tidy(now, r)
	}
}

// ObserveNode records a node as it is now. It keeps the pointer; the node must
// not be changed afterwards.
func (c *Controller) ObserveNode(now time.Time, node *corev1.Node) {
	c.nodes.Observe(now, node)
	c.nodesChanged(now)
}

// ForgetNode records that a node is gone.
func (c *Controller) ForgetNode(now time.Time, name string) {
	c.nodes.Forget(now, name)
	c.nodesChanged(now)
}

func (c *Controller) nodesChanged(now time.Time) {
	for _, uid := range c.nodes.Changed() {
		if r := c.sets[uid]; r != nil {
			c.visitAt(r, now)
		}
	}
}

// MarkSynced says that all that existed at the start has been observed. Nothing
// is handed out before.
func (c *Controller) MarkSynced(now time.Time) {
	c.synced = true
	for _, r := range c.inOrder {
		c.visitAt(r, now)
	}
}

// Halt has no pod deleted until Resume. All else goes on. It costs a visit of
// each set.
func (c *Controller) Halt(now time.Time) {
	c.halted = true
	for _, r := range c.inOrder {
		if r.planner != nil {
			r.planner.Halt(now)
		}
	}
}

// Resume ends a Halt. What was held is handed out at once, as fast as the
// budgets allow.
func (c *Controller) Resume(now time.Time) {
	c.halted = false
	for _, r := range c.inOrder {
		if r.planner != nil {
			r.planner.Resume(now)
			c.visitAt(r, now)
		}
	}
}
