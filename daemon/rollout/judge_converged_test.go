package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// again wants nothing more to be done when the planner is asked twice.
func (j *judge) again(plan, again *plan) {
	if !again.Empty() || !again.Next.Equal(plan.Next) {
		j.violate(NoSpin, "asked twice, the planner says %+v after %+v", *again, *plan)
	}
}

// early wants nothing to be done before the time that the planner has named.
func (j *judge) early(plan *plan) {
	if !plan.Empty() {
		j.violate(NoSpin, "asked too early, the planner says %+v", *plan)
	}
}

// waits wants a reason for each node that is not as it should be, and for which
// nothing is under way.
func (j *judge) waits(w *wants, planner *rollout.Planner) {
	for _, node := range sortedKeys(w.nodes) {
		if wait := planner.WaitOf(node); wait.Reason == rollout.WaitHeld && j.now.Sub(j.failed) > 2*time.Second {
			j.violate(DelaysNoOther, "%s is held, and nothing has failed since %s", node, j.failed)
		}
		_, making := w.creating[node]
		deleting := slices.ContainsFunc(
			w.on(node),
			func(p *knownPod) bool { return w.deleting[p.object.UID] },
		)
		if what := w.amiss(node); what != "" && !making && !deleting &&
			planner.WaitOf(node).Reason == "" {
			j.violate(WaitsTell, "%s: %s, and it waits for nothing", node, what)
		}
	}
}

// amiss says what is not as it should be with a node.
func (w *wants) amiss(node string) string {
	old, fresh := w.living(node, false), w.living(node, true)
	switch {
	case !w.keepsOn(node):
		if len(old)+len(fresh) > 0 {
			return "no pod may be there"
		}
		return ""
	case len(old) > 0:
		return "there is an old pod"
	case len(fresh) > 1:
		return "there are too many pods"
	case !w.runsOn(node):
		return ""
	case len(fresh) == 0:
		return "there is no pod"
	case !w.available(fresh[0]):
		return "the pod is not available"
	}
	return ""
}

// converged wants all to be as the settings say, in truth.
func (j *judge) converged(p *process) {
	w := j.wants(p)
	old, keeping, stuck := 0, 0, false
	for _, m := range j.machines {
		pods := slices.DeleteFunc(
			slices.Clone(j.pods),
			func(r *record) bool { return r.target != m.name || !isOwned(r.object) },
		)
		if m.object == nil {
			if len(pods) > 0 {
				j.violate(Converges, "%s is gone, and there are pods for it: %s", m.name, pods[0].object.Name)
			}
			continue
		}
		runs, keeps := admits(&w.Template.Spec, m.object, true), admits(&w.Template.Spec, m.object, false)
		switch {
		case !keeps && len(pods) > 0:
			j.violate(Converges, "%s is on %s, where none may be", pods[0].object.Name, m.name)
		case runs && len(pods) == 0:
			j.violate(Converges, "%s has no pod; it waits for %+v", m.name, p.planner.WaitOf(m.name))
		case len(slices.DeleteFunc(slices.Clone(pods), func(r *record) bool {
			return waitsForever(r,
				m)
		})) > 1:
			j.violate(
				Converges,
				"%s has %d pods: %s and %s",
				m.name,
				len(pods),
				pods[0].object.Name,
				pods[1].object.Name,
			)
		}
		for _, r := range pods {
			stuck = stuck || waitsForever(r, m)
			if _, ready := readySince(r.object); !ready && !waitsForever(r, m) {
				j.violate(
					Converges,
					"%s on %s is not ready; it waits for %+v",
					r.object.Name,
					m.name,
					p.planner.WaitOf(m.name),
				)
			}
			if revisionOf(r.object) == w.Revision || !runs && w.partition() > 0 {
				continue
			}
			old++
			if w.drawn().canaries && !selected(m.object) {
				keeping++
			}
		}
	}
	// What no node lets in uses up the budget, and without nodes there is none.
	if !w.Strategy.OnDelete && !w.Strategy.Paused && w.desired() > 0 && !stuck &&
		old > max(keeping, w.partition()) {
		j.violate(
			Converges,
			"%d nodes have old pods, %d are not selected, and the partition is %d",
			old,
			keeping,
			w.partition(),
		)
	}
	j.knows(p)
	if j.violated == Converges {
		j.why += fmt.Sprintf(
			"; all wait for %v, %s",
			slices.Collect(p.planner.Waits()),
			describe(&w.Spec),
		)
	}
}

// waitsForever says whether a pod is not on its node, which does not let it in.
func waitsForever(r *record, m *machine) bool {
	return r.object.Spec.NodeName == "" && !admits(&r.object.Spec, m.object, true)
}

// knows wants the planner to know what is true, and to have nothing left under
// way.
func (j *judge) knows(p *process) {
	for _, known := range p.knowledge.pods {
		if r := j.find(known.object.Name); r == nil || r.object.UID != known.object.UID {
			j.violate(
				Converges,
				"the planner does not know that %s (%s) for %s is gone",
				known.object.Name,
				known.object.UID,
				known.target,
			)
		}
	}
	for _, r := range j.pods {
		if isOwned(r.object) && p.knowledge.pod(r.object.UID) == nil && !p.mayNeverHearOf(r) {
			j.violate(
				Converges,
				"the planner was never told of %s (%s) for %s",
				r.object.Name,
				r.object.UID,
				r.target,
			)
		}
	}
	if len(p.knowledge.creating)+len(p.knowledge.deleting) > 0 {
		j.violate(
			Converges,
			"%d creations and %d deletions are under way still",
			len(p.knowledge.creating),
			len(p.knowledge.deleting),
		)
	}
}

// sameAsFull compares a planner with one that observes everything at once. What
// only one of them remembers, such as calls and backoffs, must never change the
// status. It may change the tasks only while it matters.
func (j *judge) sameAsFull(p *process, quiet bool) {
	w := j.wants(p)
	fresh, err := rollout.NewPlanner(p.config, j.now)
	if err != nil {
		j.violate(SameAsFull, "%v", err)
		return
	}
	for _, node := range sortedKeys(w.nodes) {
		fresh.ObserveNode(j.now, w.nodes[node])
	}
	for _, pod := range w.pods {
		fresh.ObservePod(j.now, pod.object)
	}
	plan := planOf(fresh, j.now)
	if slices.ContainsFunc(w.pods, func(p *knownPod) bool { return p.restarting }) {
		return // a new planner does not know of it
	}
	if status, full := statusOf(p.planner), statusOf(fresh); status != full {
		j.violate(SameAsFull, "%+v, and told all at once %+v", status, full)
	}
	if !quiet {
		return
	}
	if !plan.Empty() {
		j.violate(SameAsFull, "nothing is left to do, and told all at once there is %+v", plan)
	}
	for _, node := range sortedKeys(w.nodes) {
		if one, other := p.planner.WaitOf(node), fresh.WaitOf(node); one != other {
			j.violate(SameAsFull, "%s waits for %+v, and told all at once for %+v", node, one, other)
		}
	}
}

// idle checks that nothing is done as long as nothing happens.
func (j *judge) idle(p *process) {
	for range 5 {
		j.now = j.now.Add(40 * time.Minute)
		plan := planOf(p.planner, j.now)
		if !plan.Empty() || !plan.Next.IsZero() {
			j.violate(NoSpin, "nothing has happened for long, and the planner says %+v", plan)
		}
	}
}

// giveBack ends what counts of the nodes that the rollout has taken a pod from:
// they have an available one again, or none belongs there.
func (j *judge) giveBack(w *wants) {
	maps.DeleteFunc(j.taken, func(node string, uid types.UID) bool {
		object := w.nodes[node]
		return object == nil || object.UID != uid || !w.runsOn(node) || w.serves(node)
	})
}

// outdate ends what counts of refusals for nodes where no pod should be and
// none is, half an hour after the last one.
func (j *judge) outdate(w *wants) {
	maps.DeleteFunc(j.denied, func(node string, denied refusals) bool {
		_, making := w.creating[node]
		return !w.runsOn(node) && len(w.byNode[node]) == 0 && !making &&
			j.now.Sub(denied.last) >= 30*time.Minute
	})
}

// mayNeverHearOf reports whether both the answer to a creation and the event of
// it may be lost. The retry finds the pod, and is made only where a pod should
// run.
func (p *process) mayNeverHearOf(r *record) bool {
	return p.faults.calls > 0 && p.faults.loseOurs > 0 && !p.judge.wants(p).runsOn(r.target)
}
