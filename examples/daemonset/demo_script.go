package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

const (
	// demoNodes are there from the start, and demoLater nodes join.
	demoNodes, demoLater = 20, 6
	// demoLimit is the maxUnavailable of one set, and the maxSurge of the other.
	demoLimit = 3
	// demoTaint is the key of the taints that the script sets.
	demoTaint = "maintenance"
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
			Do:    func() error { return errors.Join(p.addNodes(1, demoNodes), p.addSets()) },
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
				return errors.Join(p.taint(drainedFrom, drainedTo, corev1.TaintEffectNoExecute),
					p.taint(closedFrom, closedTo, corev1.TaintEffectNoSchedule))
			},
		},
		{
			Title: "remove the taints",
			Do:    func() error { return p.taint(drainedFrom, closedTo, "") },
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
		steps[i].Pause += demoPause
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
		failing, available, others := 0, 0, 0
		for _, pod := range p.seen.pods {
			switch tag := tagOf(&pod.Spec); {
			case ownerOf(pod) != set.name:
			case tag == badImage && pod.DeletionTimestamp == nil && !isAvailable(pod):
				failing++
			case tag == secondImage && pod.DeletionTimestamp == nil && isAvailable(pod):
				available++
			default:
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

func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// addNodes makes the nodes of these numbers.
func (p *play) addNodes(from, to int) error {
	for i := from; i <= to; i++ {
		err := p.Create(simulation.NodeResource, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i)},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// taint gives the nodes of these numbers a taint. No effect removes it.
func (p *play) taint(from, to int, effect corev1.TaintEffect) error {
	patch := `{"spec":{"taints":null}}`
	if effect != "" {
		patch = fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":%q}]}}`, demoTaint, effect)
	}
	for i := from; i <= to; i++ {
		if err := p.Patch(simulation.NodeResource, nodeName(i), types.MergePatchType, []byte(patch)); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) addSets() error {
	for _, set := range demoSets {
		if err := p.Create(simulation.SetResource, set.object()); err != nil {
			return err
		}
	}
	return nil
}

func (s demoSet) object() *appsv1.DaemonSet {
	labels := map[string]string{"app": s.name}
	update := &appsv1.RollingUpdateDaemonSet{
		MaxUnavailable: new(intstr.FromInt32(demoLimit)), MaxSurge: new(intstr.FromInt32(0)),
	}
	if s.surges {
		update.MaxUnavailable, update.MaxSurge = update.MaxSurge, update.MaxUnavailable
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: s.name, Image: s.name + ":" + firstImage}}},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: update,
			},
			RevisionHistoryLimit: new(int32(10)),
		},
	}
}

// rollOut gives each set another image.
func (p *play) rollOut(image string) error {
	for _, set := range demoSets {
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, set.name,
			set.name+":"+image)
		if err := p.Patch(simulation.SetResource, set.name, types.StrategicMergePatchType, []byte(patch)); err != nil {
			return err
		}
	}
	return nil
}

var errNoRevision = errors.New("the set has no such revision")

// rollBack does what kubectl rollout undo --to-revision does: it applies the
// data of a revision as a patch.
func (p *play) rollBack(number int64) error {
	revisions := p.Revisions()
	for _, set := range demoSets {
		i := slices.IndexFunc(revisions, func(revision *appsv1.ControllerRevision) bool {
			return revision.Revision == number && ownerOf(revision) == set.name
		})
		if i < 0 {
			return fmt.Errorf("roll %s back to revision %d: %w", set.name, number, errNoRevision)
		}
		err := p.Patch(simulation.SetResource, set.name, types.StrategicMergePatchType, revisions[i].Data.Raw)
		if err != nil {
			return err
		}
	}
	return nil
}
