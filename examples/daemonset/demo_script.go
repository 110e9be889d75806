package main

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

const (
	// demoNodes are there from the start, and demoLater nodes join.
	demoNodes, demoLater = 20, 6
	// demoLimit is the maxUnavailable of one set, and the maxSurge of the other.
	demoLimit = 3
)

// demoSet is a DaemonSet of the demonstration.
type demoSet struct {
	name string
	// surges says that its rollout makes a new pod before the old one goes.
	surges bool
}

var demoSets = []demoSet{{name: "agent"}, {name: "proxy", surges: true}}

// The tags of the images of the demonstration.
const (
	firstImage  = "v1"
	secondImage = "v2"
	badImage    = "v3" // no kubelet can pull it
)

// The nodes of the script that are drained, with NoExecute, and closed, with
// NoSchedule. The pods of a closed node stay.
const (
	drainedFrom, drainedTo = 5, 8
	closedFrom, closedTo   = 9, 10
)

// The steps that roll out the second image and the bad one, as indexes.
const firstRollout, badRollout = 1, 5

// demoSteps is how many steps there are.
const demoSteps = 7

// script is what happens.
func (p *play) script() []demonstration.Step {
	steps := []demonstration.Step{
		{
			Title: fmt.Sprintf("create agent and proxy, on %d nodes", demoNodes),
			Do: func() error {
				return errors.Join(p.addNodes(1, demoNodes), p.Create(simulation.SetResource, newSets()...))
			},
		},
		{
			Title: fmt.Sprintf("roll out v2: agent %d nodes at a time, proxy with surge", demoLimit),
			Do:    func() error { return p.rollOut(secondImage) },
		},
		{
			Title: fmt.Sprintf("%d nodes join", demoLater),
			Do:    func() error { return p.addNodes(demoNodes+1, demoNodes+demoLater) },
		},
		{
			Title: fmt.Sprintf("taint %d nodes NoExecute, and %d NoSchedule, whose pods stay",
				drainedTo-drainedFrom+1, closedTo-closedFrom+1),
			Do: func() error {
				return errors.Join(p.taint(corev1.TaintEffectNoExecute, drainedFrom, drainedTo),
					p.taint(corev1.TaintEffectNoSchedule, closedFrom, closedTo))
			},
		},
		{
			Title: "remove the taints",
			Do:    func() error { return p.taint("", drainedFrom, closedTo) },
		},
		{
			Title: "roll out v3, whose image cannot be pulled: the rollout stops",
			Do:    func() error { return p.rollOut(badImage) },
			Lacks: p.lacksStop,
			Pause: 2 * time.Second,
		},
		{
			Title: "roll back to revision 2, as kubectl rollout undo does",
			Do:    func() error { return p.rollBack(2) },
		},
	}
	for i := range steps {
		if steps[i].Lacks == nil {
			steps[i].Lacks = p.lacks
		}
	}
	return steps
}

// lacks returns how pods, statuses and revisions are not as the sets want them.
func (p *play) lacks() []string {
	texts := p.missing()
	for _, one := range invariant.Lacking(p.History()) {
		texts = append(texts, one.Text+";")
	}
	return texts
}

func (p *play) missing() (texts []string) {
	for _, set := range demoSets {
		if p.seen.set(set.name).Name == "" {
			texts = append(texts, set.name+" is missing;")
		}
	}
	return texts
}

// lacksStop returns how the rollout of the bad image has not stopped. It has
// taken as many nodes as the limit of each set allows, and no more. All others
// have an available pod, and so have all of the set that surges.
func (p *play) lacksStop() []string {
	texts := p.missing()
	for _, set := range demoSets {
		failing := p.seen.with(set.name, func(pod *corev1.Pod) bool { return isBad(pod) && !isAvailable(pod) })
		available := p.seen.with(set.name, func(pod *corev1.Pod) bool {
			return tagOf(&pod.Spec) == secondImage && isAvailable(pod)
		})
		others := -failing - available
		for _, pod := range p.seen.pods {
			if ownerOf(pod) == set.name {
				others++
			}
		}
		want := len(p.seen.nodes)
		if !set.surges {
			want -= demoLimit
		}
		says := p.seen.set(set.name).Status.NumberAvailable
		if failing != demoLimit || available != want || int(says) != want || others > 0 {
			texts = append(texts, fmt.Sprintf("%s has %d pods that are stuck, %d available, %d others, and says %d are available;",
				set.name, failing, available, others, says))
		}
	}
	return texts
}
