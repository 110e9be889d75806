package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// history is what the API server stored during the demonstration, in the order
// of versions. So it does not depend on when a watch was read.
type history []memory.Change

func newHistory(cluster *memory.Cluster) history { return (&reader{cluster: cluster}).next() }

// reader reads the history of a cluster part by part.
type reader struct {
	cluster *memory.Cluster
	read    [4]uint64 // the last version of each resource
}

// next returns what has been stored since the last call.
func (r *reader) next() history {
	apps := appsv1.SchemeGroupVersion
	var h history
	for i, resource := range [len(r.read)]schema.GroupVersionResource{
		apps.WithResource("daemonsets"), apps.WithResource("controllerrevisions"),
		corev1.SchemeGroupVersion.WithResource("nodes"), corev1.SchemeGroupVersion.WithResource("pods"),
	} {
		changes := r.cluster.ChangesAfter(resource, r.read[i])
		if n := len(changes); n > 0 {
			r.read[i] = changes[n-1].Version
		}
		h = append(h, changes...)
	}
	slices.SortFunc(h, func(a, b memory.Change) int { return cmp.Compare(a.Version, b.Version) })
	return h
}

// verdict is what the history says about the controller.
type verdict struct {
	steps                    int
	created, deleted, rolled int
	mostDown, mostSurging    int // in rollouts: nodes of agent, nodes of proxy

	unreached  []string // steps that did not end as they should
	misplaced  []string // pods made for a node that does not fit
	crowded    []string // pods made for a node that had enough
	unreasoned []string // pods that were deleted although they fit
	overdrawn  []string // pods of agent whose deletion exceeded maxUnavailable
	surplus    []string // pods of proxy whose creation exceeded maxSurge
	uncovered  []string // pods of proxy deleted before another was available
	spoiled    []string // nodes that lost their good pod to the bad image
	forgotten  []string // sets whose revisions are not as after a rollback
}

// judge compares the history with what is allowed. Marks are the last versions
// of the steps that were played.
func (h history) judge(steps []step, marks []uint64) *verdict {
	v := &verdict{steps: len(steps)}
	s, ends := newState(), make([]*state, 0, len(marks))
	for i, next := 0, 0; i <= len(h); i++ {
		for next < len(marks) && (i == len(h) || h[i].Version > marks[next]) {
			if different := s.differences(steps[next].want); len(different) > 0 {
				v.unreached = append(v.unreached, append([]string{fmt.Sprintf("%q:", steps[next].title)}, different...)...)
			}
			ends = append(ends, s.clone())
			next++
		}
		if i == len(h) {
			break
		}
		if pod, ok := h[i].Object.(*corev1.Pod); ok {
			v.seePod(s, pod, h[i].Deleted)
		}
		s.see(h[i].Object, h[i].Deleted)
	}
	for _, step := range steps[len(marks):] {
		v.unreached = append(v.unreached, fmt.Sprintf("%q: not played;", step.title))
	}
	v.judgeRollback(steps, ends)
	return v
}

func (s *state) clone() *state {
	return &state{maps.Clone(s.nodes), maps.Clone(s.pods), maps.Clone(s.sets), maps.Clone(s.revisions)}
}

// seePod judges a change of a pod by the state before it.
func (v *verdict) seePod(s *state, pod *corev1.Pod, deleted bool) {
	before, known := s.pods[pod.Name]
	switch {
	case !known && !deleted:
		v.judgeCreation(s, pod.Name, factsOfPod(pod))
	case known && !before.terminating && (deleted || pod.DeletionTimestamp != nil):
		v.judgeDeletion(s, pod.Name, before)
	}
}

func setOf(p podFacts) (demoSet, bool) {
	i := slices.IndexFunc(demoSets, func(s demoSet) bool { return s.name == p.set })
	if i < 0 {
		return demoSet{}, false
	}
	return demoSets[i], true
}

func (v *verdict) judgeCreation(s *state, name string, p podFacts) {
	v.created++
	set, owned := setOf(p)
	if node, known := s.nodes[p.node]; !owned || !known || !node.fits() {
		v.misplaced = append(v.misplaced, name)
		return
	}
	others := slices.DeleteFunc(s.on(p.set, p.node), func(o podFacts) bool { return o.ended })
	if len(others) == 0 {
		return
	}
	same := func(o podFacts) bool { return o.image == p.image }
	if !set.surges || slices.ContainsFunc(living(others), same) {
		v.crowded = append(v.crowded, name)
		return
	}
	surging := 1
	for node := range s.nodes {
		if node != p.node && len(living(s.on(p.set, node))) > 1 {
			surging++
		}
	}
	v.mostSurging = max(v.mostSurging, surging)
	if surging > demoLimit {
		v.surplus = append(v.surplus, name)
	}
}

// living returns the pods that are not terminating.
func living(pods []podFacts) []podFacts {
	return slices.DeleteFunc(pods, func(p podFacts) bool { return p.terminating })
}

func (v *verdict) judgeDeletion(s *state, name string, p podFacts) {
	v.deleted++
	set, owned := setOf(p)
	switch {
	case s.nodes[p.node].drained:
		return
	case !owned || p.image == s.sets[p.set].image:
		v.unreasoned = append(v.unreasoned, name)
		return
	case !p.available || !s.nodes[p.node].fits():
		return
	}
	v.rolled++
	if set.surges {
		successor := func(o podFacts) bool { return o.available && o.image == s.sets[p.set].image }
		if !slices.ContainsFunc(living(s.on(p.set, p.node)), successor) {
			v.uncovered = append(v.uncovered, name)
		}
		return
	}
	down := 1
	serves := func(o podFacts) bool { return o.available }
	for node, facts := range s.nodes {
		if facts.fits() && !slices.ContainsFunc(living(s.on(p.set, node)), serves) {
			down++
		}
	}
	v.mostDown = max(v.mostDown, down)
	if down > demoLimit {
		v.overdrawn = append(v.overdrawn, name)
	}
}

// judgeRollback compares the state before the bad image with the one after the
// rollback.
func (v *verdict) judgeRollback(steps []step, ends []*state) {
	bad := slices.IndexFunc(steps, func(s step) bool { return s.want.stuck != "" })
	if bad < 1 || len(ends) < len(steps) {
		v.spoiled, v.forgotten = []string{"not played"}, []string{"not played"}
		return
	}
	before, after := ends[bad-1], ends[len(ends)-1]
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

// newest returns the name of the revision of a set with the highest number.
func (s *state) newest(set string) string {
	newest := ""
	for _, name := range slices.Sorted(maps.Keys(s.revisions)) {
		if r := s.revisions[name]; r.set == set && (newest == "" || r.number > s.revisions[newest].number) {
			newest = name
		}
	}
	return newest
}

// print writes the summary and returns ErrNotHeld if the controller did
// something that it should not have.
func (v *verdict) print(out io.Writer, calls map[memory.Request]int) error {
	fmt.Fprintf(out, "\nWhat the API server stored: %d pods created, %d deleted, %d of them by\n"+
		"rollouts while available. Most nodes of agent down in a rollout: %d. Most\n"+
		"nodes of proxy with a surge pod: %d.\n", v.created, v.deleted, v.rolled, v.mostDown, v.mostSurging)
	demonstration.PrintCalls(out, calls)
	return demonstration.PrintClaims(out, v.claims())
}

func (v *verdict) claims() demonstration.Claims {
	var claims demonstration.Claims
	claims.Add(v.unreached, "after each of the %d steps pods and status were as they should", v.steps)
	claims.Add(v.misplaced, "each of the %d pods that were created was for a node that fits", v.created)
	claims.Add(v.crowded, "no pod was created for a node that had enough")
	claims.Add(v.unreasoned, "each of the %d pods that were deleted had a reason to go", v.deleted)
	claims.Add(v.overdrawn, "agent: no rollout took more than %d nodes at a time", demoLimit)
	claims.Add(v.surplus, "proxy: no more than %d nodes had a second pod", demoLimit)
	claims.Add(v.uncovered, "proxy: no rollout left a node without an available pod")
	claims.Add(v.spoiled, "the bad image cost %d pods of agent, and none of proxy", demoLimit)
	claims.Add(v.forgotten, "the rollback made the second revision the fourth, and no new one")
	if v.created == 0 || v.deleted == 0 || v.rolled == 0 {
		claims.Add([]string{"none"}, "pods were created, deleted and rolled out")
	}
	return claims
}
