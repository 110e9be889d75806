package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// figures count what the API server stored.
type figures struct {
	created, deleted, rolled int
	mostDown, mostSurging    int // in rollouts: nodes of agent, nodes of proxy
}

// see counts a change of a pod by the state before it.
func (f *figures) see(s *state, change *invariant.Change) {
	pod, ok := change.Object().(*corev1.Pod)
	if !ok {
		return
	}
	before, known := s.pods[pod.Name]
	switch {
	case !known && change.After != nil:
		f.created++
		if made := factsOfPod(pod); surges(made.set) {
			f.mostSurging = max(f.mostSurging, s.surging(made))
		}
	case known && !before.terminating && (change.After == nil || pod.DeletionTimestamp != nil):
		f.deleted++
		if before.available && before.image != s.sets[before.set].image && s.nodes[before.node].fits() {
			f.rolled++
			if !surges(before.set) {
				f.mostDown = max(f.mostDown, s.down(before))
			}
		}
	}
}

func surges(set string) bool {
	return slices.ContainsFunc(demoSets, func(s demoSet) bool { return s.name == set && s.surges })
}

// surging returns how many nodes have a second pod of a set with a new one, if
// that is a second pod itself.
func (s *state) surging(made podFacts) int {
	nodes := map[string]int{made.node: 1}
	for _, p := range s.pods {
		if p.set == made.set && !p.terminating {
			nodes[p.node]++
		}
	}
	if nodes[made.node] < 2 {
		return 0
	}
	count := 0
	for _, pods := range nodes {
		if pods > 1 {
			count++
		}
	}
	return count
}

// down returns how many nodes have no available pod of a set without one that
// is deleted.
func (s *state) down(deleted podFacts) int {
	serving := map[string]int{deleted.node: -1}
	for _, p := range s.pods {
		if p.set == deleted.set && p.available && !p.terminating {
			serving[p.node]++
		}
	}
	count := 0
	for node, facts := range s.nodes {
		if facts.fits() && serving[node] < 1 {
			count++
		}
	}
	return count
}

// verdict is what the summary says of the controller.
type verdict struct {
	figures

	steps int
	calls map[string]int
	// unreached are the steps that did not end as they should.
	unreached []string
	spoiled   []string // nodes that lost their good pod to the bad image
	forgotten []string // sets whose revisions are not as after a rollback
	found     []invariant.Violation
}

// verdict judges what has happened.
func (p *play) verdict(unreached []string) *verdict {
	v := &verdict{figures: p.figures, steps: len(p.script()), calls: map[string]int{}, unreached: unreached}
	for _, call := range p.History().Calls {
		v.calls[call.Request]++
	}
	if left := v.steps - len(p.ends); left > 0 {
		v.unreached = append(v.unreached, fmt.Sprintf("%d not played;", left))
	}
	history, quietFrom := p.End()
	v.found = invariant.Check(history, quietFrom)
	v.judgeRollback(p.ends)
	return v
}

// judgeRollback compares the state before the bad image with the one after the
// rollback.
func (v *verdict) judgeRollback(ends []*state) {
	if len(ends) < v.steps {
		v.spoiled, v.forgotten = []string{"not played"}, []string{"not played"}
		return
	}
	before, after := ends[badStep-1], ends[len(ends)-1]
	for _, set := range demoSets {
		var lost []string
		for name, p := range before.pods {
			if _, stayed := after.pods[name]; p.set == set.name && !stayed {
				lost = append(lost, p.node)
			}
		}
		slices.Sort(lost)
		allowed := 0
		if !set.surges {
			allowed = demoLimit
		}
		for _, node := range lost[min(allowed, len(lost)):] {
			v.spoiled = append(v.spoiled, set.name+" on "+node+";")
		}
		was, is := before.newest(set.name), after.newest(set.name)
		if was != is || before.revisions[was].number != 2 || after.revisions[is].number != 4 {
			v.forgotten = append(v.forgotten, fmt.Sprintf("%s went from %s, revision %d, to %s, revision %d;", set.name,
				was, before.revisions[was].number, is, after.revisions[is].number))
		}
	}
}

// print writes the summary and returns ErrNotHeld if the controller did
// something that it should not have.
func (v *verdict) print(out io.Writer) error {
	fmt.Fprintf(out, "\nWhat the API server stored: %d pods created, %d deleted, %d of them by\n"+
		"rollouts while available. Most nodes of agent down in a rollout: %d. Most\n"+
		"nodes of proxy with a surge pod: %d.\n", v.created, v.deleted, v.rolled, v.mostDown, v.mostSurging)
	demonstration.PrintCalls(out, v.calls)
	return demonstration.PrintClaims(out, v.claims())
}

func (v *verdict) claims() demonstration.Claims {
	var claims demonstration.Claims
	found := v.found
	// take returns the texts of violations about a set, or about all, and leaves
	// the others.
	take := func(set string, wanted ...invariant.Invariant) (texts []string) {
		found = slices.DeleteFunc(slices.Clone(found), func(one invariant.Violation) bool {
			is := slices.Contains(wanted, one.Invariant) && strings.Contains(one.Text, "pod "+set)
			if is {
				texts = append(texts, one.Text+";")
			}
			return is
		})
		return texts
	}
	claims.Add(v.unreached, "after each of the %d steps pods and status were as they should", v.steps)
	claims.Add(take("", invariant.RightPlace), "each of the %d pods that were created was for a node that fits", v.created)
	claims.Add(take("", invariant.OnePerNode), "no pod was created for a node that had enough")
	claims.Add(take("", invariant.Reasoned, invariant.OthersUntouched, invariant.BetterStays),
		"each of the %d pods that were deleted had a reason to go", v.deleted)
	claims.Add(take("agent", invariant.WithinUnavailable),
		"agent: no rollout took more than %d nodes at a time", demoLimit)
	claims.Add(take("proxy", invariant.WithinSurge), "proxy: no more than %d nodes had a second pod", demoLimit)
	claims.Add(take("proxy", invariant.WithinUnavailable), "proxy: no rollout left a node without an available pod")
	claims.Add(v.spoiled, "the bad image cost %d pods of agent, and none of proxy", demoLimit)
	claims.Add(v.forgotten, "the rollback made the second revision the fourth, and no new one")
	if v.created == 0 || v.deleted == 0 || v.rolled == 0 {
		claims.Add([]string{"none"}, "pods were created, deleted and rolled out")
	}
	if len(found) > 0 {
		var others []string
		for _, one := range found {
			others = append(others, fmt.Sprintf("%s: %s;", one.Invariant, one.Text))
		}
		claims.Add(others, "everything else was as the controller promises")
	}
	return claims
}
