package main

import (
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// figures count the pods that the API server stored.
type figures struct {
	created, deleted int
	rolled           int // of those deleted: available, and of an older template
}

func figuresOf(history *invariant.History) (f figures) {
	template := map[string]string{} // the tag of each set's image
	for _, change := range history.Changes {
		switch object := change.Object().(type) {
		case *appsv1.DaemonSet:
			template[object.Name] = tagOf(&object.Spec.Template.Spec)
		case *corev1.Pod:
			before, existed := change.Before.(*corev1.Pod)
			switch {
			case !existed:
				f.created++
			case before.DeletionTimestamp == nil && (change.After == nil || object.DeletionTimestamp != nil):
				f.deleted++
				if isAvailable(before) && tagOf(&before.Spec) != template[ownerOf(before)] {
					f.rolled++
				}
			}
		}
	}
	return f
}

// summarize writes what happened, and returns what that proves.
func (d *demo) summarize(out io.Writer, unreached []string) (demonstration.Claims, error) {
	calls, f := map[string]int{}, figuresOf(d.History())
	for _, call := range d.History().Calls {
		calls[call.Request]++
	}
	fmt.Fprintf(out, "\nWhat the API server stored: %d pods created, %d deleted, %d of them by\n"+
		"rollouts while available. Most nodes of agent down in a rollout: %d. Most\n"+
		"nodes of proxy with a surge pod: %d.\n", f.created, f.deleted, f.rolled, d.mostDown, d.mostSurging)
	demonstration.PrintCalls(out, calls)
	if left := demoSteps - len(d.Ends); left > 0 {
		unreached = append(unreached, fmt.Sprintf("%d not played;", left))
	}
	all := claims(f, unreached, invariant.Check(d.End()))
	claimRollback(&all, d.Ends)
	return all, nil
}

// claims says what figures prove, with the steps that did not end as they
// should, and what the invariants have found.
func claims(f figures, unreached []string, violations []invariant.Violation) (all demonstration.Claims) {
	var found demonstration.Findings[invariant.Invariant]
	for _, v := range violations {
		found = append(found, demonstration.Finding[invariant.Invariant]{Rule: v.Invariant, Text: v.Text})
	}
	all.Add(unreached, "after each of the %d steps pods and status were as they should", demoSteps)
	all.Add(found.Take("pod ", invariant.RightPlace),
		"each of the %d pods that were created was for a node that fits", f.created)
	all.Add(found.Take("pod ", invariant.OnePerNode), "no pod was created for a node that had enough")
	all.Add(found.Take("pod ", invariant.Reasoned, invariant.OthersUntouched, invariant.BetterStays),
		"each of the %d pods that were deleted had a reason to go", f.deleted)
	all.Add(found.Take("pod agent", invariant.WithinUnavailable),
		"agent: no rollout took more than %d nodes at a time", demoLimit)
	all.Add(found.Take("pod proxy", invariant.WithinSurge), "proxy: no more than %d nodes had a second pod", demoLimit)
	all.Add(found.Take("pod proxy", invariant.WithinUnavailable),
		"proxy: no rollout left a node without an available pod")
	all.Add(demonstration.Unless(f.created > 0 && f.deleted > 0 && f.rolled > 0, "none"),
		"pods were created, deleted and rolled out")
	all.Add(found.Rest(), "everything else was as the controller promises")
	return all
}

// claimRollback compares the state before the bad image with the one after the
// rollback.
func claimRollback(all *demonstration.Claims, ends []*state) {
	spoiled, forgotten := []string{"not played"}, []string{"not played"}
	if len(ends) == demoSteps {
		spoiled, forgotten = nil, nil
		before, after := ends[badRollout-1], ends[demoSteps-1]
		for _, set := range demoSets {
			spoiled = append(spoiled, set.spoiled(before, after)...)
			was, is := before.newest(set.name), after.newest(set.name)
			if was.Name != is.Name || was.Revision != 2 || is.Revision != 4 {
				forgotten = append(forgotten, fmt.Sprintf("%s went from %s, revision %d, to %s, revision %d;", set.name,
					was.Name, was.Revision, is.Name, is.Revision))
			}
		}
	}
	all.Add(spoiled, "the bad image cost %d pods of agent, and none of proxy", demoLimit)
	all.Add(forgotten, "the rollback made the second revision the fourth, and no new one")
}

// spoiled returns the pods of a set that are gone, except for as many as the
// rollout could take.
func (s demoSet) spoiled(before, after *state) (lost []string) {
	for _, pod := range before.pods {
		stayed := slices.ContainsFunc(after.pods, func(other *corev1.Pod) bool { return other.Name == pod.Name })
		if ownerOf(pod) == s.name && !stayed {
			lost = append(lost, s.name+" on "+pod.Spec.NodeName+";")
		}
	}
	if s.surges {
		return lost
	}
	return lost[min(demoLimit, len(lost)):]
}
