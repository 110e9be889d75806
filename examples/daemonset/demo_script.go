package main

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/outage/daemonsets"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/network"
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
var drained, closed = nodeNames(5, 8), nodeNames(9, 10)

// The steps that roll out the second image and the bad one, as indexes, and how
// many steps there are.
const firstRollout, badRollout, demoSteps = 1, 5, 7

// script is what happens.
func (d *demo) script() []demonstration.Step {
	return []demonstration.Step{
		{
			Title: fmt.Sprintf("create agent and proxy, on %d nodes", demoNodes),
			Do: func() error {
				d.addNodes(1, demoNodes)
				return d.createSets()
			},
			Lacks: d.lacks,
		},
		{
			Title: fmt.Sprintf("roll out v2: agent %d nodes at a time, proxy with surge", demoLimit),
			Do:    func() error { return d.rollOut(secondImage) },
			Lacks: d.lacks,
		},
		{
			Title: fmt.Sprintf("%d nodes join", demoLater),
			Do: func() error {
				d.addNodes(demoNodes+1, demoNodes+demoLater)
				return nil
			},
			Lacks: d.lacks,
		},
		{
			Title: fmt.Sprintf("taint %d nodes NoExecute, and %d NoSchedule, whose pods stay", len(drained), len(closed)),
			Do: func() error {
				return errors.Join(d.taint(corev1.TaintEffectNoExecute, drained),
					d.taint(corev1.TaintEffectNoSchedule, closed))
			},
			Lacks: d.lacks,
		},
		{
			Title: "remove the taints",
			Do:    func() error { return errors.Join(d.taint("", drained), d.taint("", closed)) },
			Lacks: d.lacks,
		},
		{
			Title: "roll out v3, whose image cannot be pulled: the rollout stops",
			Do:    func() error { return d.rollOut(badImage) },
			Lacks: d.lacksStop,
			Pause: 2 * time.Second,
		},
		{
			Title: "roll back to revision 2, as kubectl rollout undo does",
			Do:    func() error { return d.rollBack(2) },
			Lacks: d.lacks,
		},
	}
}

// lacks returns how pods, statuses and revisions are not as the sets want them.
func (d *demo) lacks() (texts []string) {
	for _, set := range demoSets {
		if d.Seen.set(set.name).Name == "" {
			texts = append(texts, set.name+" is missing;")
		}
	}
	for _, one := range invariant.Lacking(d.History()) {
		texts = append(texts, one.Text+";")
	}
	return texts
}

// lacksStop returns how the rollout of the bad image has not stopped. It has
// taken as many nodes as the limit of each set allows, and no more. All others
// have an available pod, and so have all of the set that surges.
func (d *demo) lacksStop() (texts []string) {
	for _, set := range demoSets {
		nodes := len(d.Seen.nodes)
		want := tally{desired: nodes, available: nodes - demoLimit, failing: demoLimit}
		if set.surges {
			want.available, want.surging = nodes, demoLimit
		}
		is, says := d.Seen.tally(set.name), int(d.Seen.set(set.name).Status.NumberAvailable)
		texts = append(texts, demonstration.Unless(is == want && says == want.available,
			"%s has %+v, want %+v, and says %d are available;", set.name, is, want, says)...)
	}
	return texts
}

func nodeNames(from, to int) (names []string) {
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("node-%02d", i))
	}
	return names
}

// addNodes makes the nodes of these numbers.
func (d *demo) addNodes(from, to int) {
	for _, name := range nodeNames(from, to) {
		d.AddMachine(name, "", "")
	}
}

// taint gives nodes a taint. No effect removes it.
func (d *demo) taint(effect corev1.TaintEffect, nodes []string) error {
	patch := []byte(`{"spec":{"taints":null}}`)
	if effect != "" {
		patch = fmt.Appendf(nil, `{"spec":{"taints":[{"key":"maintenance","effect":%q}]}}`, effect)
	}
	return d.Patch(network.Nodes.Resource(), types.MergePatchType, patch, nodes...)
}

// createSets creates the sets with the first image.
func (d *demo) createSets() error {
	var sets []runtime.Object
	for _, set := range demoSets {
		limit, none := ptr.To(intstr.FromInt32(demoLimit)), ptr.To(intstr.FromInt32(0))
		update := &appsv1.RollingUpdateDaemonSet{MaxUnavailable: limit, MaxSurge: none}
		if set.surges {
			update.MaxUnavailable, update.MaxSurge = none, limit
		}
		created := daemonsets.NewSet(set.name, corev1.Container{Name: set.name, Image: set.name + ":" + firstImage})
		created.Spec.UpdateStrategy.RollingUpdate = update
		created.Spec.RevisionHistoryLimit = ptr.To(int32(10))
		sets = append(sets, created)
	}
	return d.Create(network.DaemonSets.Resource(), sets...)
}

// rollOut gives each set another image.
func (d *demo) rollOut(image string) error {
	return d.patchSets(func(set string) []byte {
		return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"%s:%s"}]}}}}`,
			set, set, image)
	})
}

// rollBack does what kubectl rollout undo --to-revision does: it applies the
// data of a revision as a patch.
func (d *demo) rollBack(number int64) error {
	return d.patchSets(func(set string) []byte {
		for _, revision := range ownedBy(set, d.Seen.revisions) {
			if revision.Revision == number {
				return revision.Data.Raw
			}
		}
		return nil // which is refused
	})
}

func (d *demo) patchSets(patchOf func(set string) []byte) error {
	for _, set := range demoSets {
		err := d.Patch(network.DaemonSets.Resource(), types.StrategicMergePatchType, patchOf(set.name), set.name)
		if err != nil {
			return err
		}
	}
	return nil
}
