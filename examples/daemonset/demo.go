package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"kube-api-qps": "1000", "kube-api-burst": "1000"}

// demoKubelets are quick, so that a rollout takes seconds.
var demoKubelets = simulation.Kubelets{
	Bind:   network.Span{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond},
	Begin:  network.Span{Min: 50 * time.Millisecond, Max: 100 * time.Millisecond},
	Ready:  network.Span{Min: 400 * time.Millisecond, Max: 600 * time.Millisecond},
	Stop:   network.Span{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
	Broken: ":" + badImage,
}

// demo is the script on its way.
type demo struct {
	*simulation.World
	*demonstration.Play[*state]

	// mostDown and mostSurging are how many nodes had no available pod of agent,
	// and two pods of proxy, at most at a look in a rollout.
	mostDown, mostSurging int
}

// newDemo returns the demonstration, on an empty cluster of the simulation in
// which nothing goes wrong. The flags set s.
func newDemo(s *settings, flags *pflag.FlagSet, seed uint64) (*demo, error) {
	if err := demonstration.SetDefaults(flags, demoDefaults); err != nil {
		return nil, err
	}
	config := s.config()
	config.Backoff.Jitter = nil // each run is the same
	world, err := simulation.NewWorld(simulation.WorldConfig{Seed: seed, Controller: config, Kubelets: demoKubelets})
	if err != nil {
		return nil, fmt.Errorf("set up the demonstration: %w", err)
	}
	d := &demo{World: world}
	d.Play = &demonstration.Play[*state]{
		Cluster: world, Look: d.look, Glance: 100 * time.Millisecond,
		Lines: d.lines, Beat: time.Second, Legend: legend(),
		Steps: d.script(), Pause: 1500 * time.Millisecond,
		Summarize: d.summarize,
	}
	return d, nil
}

// look reads the cluster.
func (d *demo) look() *state {
	s := &state{d.Nodes(), d.Pods(), d.Sets(), d.Revisions()}
	if step := len(d.Ends); step == firstRollout || step >= badRollout {
		d.mostDown = max(d.mostDown, len(s.nodes)-s.tally("agent").available)
		d.mostSurging = max(d.mostSurging, s.tally("proxy").surging)
	}
	return s
}

// state is what the API server has at a time. It is made of objects alone, and
// shares no code with the controller.
type state struct {
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	sets      []*appsv1.DaemonSet
	revisions []*appsv1.ControllerRevision
}

// set returns the set of a name, or an empty one.
func (s *state) set(name string) *appsv1.DaemonSet {
	for _, set := range s.sets {
		if set.Name == name {
			return set
		}
	}
	return &appsv1.DaemonSet{}
}

// living returns the pods of a set on a node that are not terminating.
func (s *state) living(set, node string) []*corev1.Pod {
	return slices.DeleteFunc(ownedBy(set, s.pods), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != node || pod.DeletionTimestamp != nil
	})
}

// tally counts the nodes by what they have of a set.
type tally struct{ desired, available, updated, surging, failing int }

func (s *state) tally(set string) (t tally) {
	template := tagOf(&s.set(set).Spec.Template.Spec)
	isUpdated := func(pod *corev1.Pod) bool { return isAvailable(pod) && tagOf(&pod.Spec) == template }
	count := func(nodes *int, is bool) {
		if is {
			*nodes++
		}
	}
	for _, node := range s.nodes {
		pods := s.living(set, node.Name)
		count(&t.desired, len(node.Spec.Taints) == 0)
		count(&t.available, slices.ContainsFunc(pods, isAvailable))
		count(&t.updated, slices.ContainsFunc(pods, isUpdated))
		count(&t.surging, len(pods) > 1)
		count(&t.failing, slices.ContainsFunc(pods, isBad))
	}
	return t
}

// newest returns the revision of a set with the highest number.
func (s *state) newest(set string) *appsv1.ControllerRevision {
	all := append(ownedBy(set, s.revisions), &appsv1.ControllerRevision{})
	return slices.MaxFunc(all, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
}

// ownedBy returns the objects that a set controls.
func ownedBy[T metav1.Object](set string, objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return ownerOf(object) != set })
}

// ownerOf returns the name of the set that controls an object.
func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == "DaemonSet" {
		return owner.Name
	}
	return ""
}

func isAvailable(pod *corev1.Pod) bool { return demonstration.IsReady(pod) }

func isBad(pod *corev1.Pod) bool { return tagOf(&pod.Spec) == badImage }

func tagOf(spec *corev1.PodSpec) string {
	if len(spec.Containers) == 0 {
		return ""
	}
	_, tag, _ := strings.Cut(spec.Containers[0].Image, ":")
	return tag
}

// lines tell about each set how many nodes have what of it.
func (d *demo) lines(tell demonstration.Tell) {
	for _, set := range demoSets {
		t := d.Seen.tally(set.name)
		var cells []string
		for _, node := range d.Seen.nodes {
			cells = append(cells, cell(d.Seen.living(set.name, node.Name)))
		}
		tell(set.name, fmt.Sprintf("%s  %3d desired %3d available %3d updated %3d surging %3d failing",
			set.name, t.desired, t.available, t.updated, t.surging, t.failing), cells...)
	}
}

// legend says what cells mean.
func legend() string {
	return fmt.Sprintf("%s v1  %s v2  %s starting  %s v3, broken  ◆ two pods  · none", demonstration.Blue.Paint("■"),
		demonstration.Green.Paint("■"), demonstration.Yellow.Paint("■"), demonstration.Red.Paint("■"))
}

// cell shows the pods of a set on a node: how many, and the one that is
// furthest from the first image.
func cell(pods []*corev1.Pod) string {
	if len(pods) == 0 {
		return "·"
	}
	shape := "■"
	if len(pods) > 1 {
		shape = "◆"
	}
	newest := slices.MaxFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(tagOf(&a.Spec), tagOf(&b.Spec)) })
	color := demonstration.Blue
	switch {
	case isBad(newest):
		color = demonstration.Red
	case !isAvailable(newest):
		color = demonstration.Yellow
	case tagOf(&newest.Spec) == secondImage:
		color = demonstration.Green
	}
	return color.Paint(shape)
}
