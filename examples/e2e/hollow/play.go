package hollow

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const (
	namespace = fleet.Namespace
	// app is the label of the pods that all come and go together.
	app = "web"
)

// A play is a script with a fleet.
type play struct {
	*sidebyside.Play[scenario]
	*options
	record  sidebyside.Record
	running *sidebyside.Processes // the subject
	// seenNodes and seenPods are those that a watch shows to the script.
	seenNodes listers.NodeLister
	seenPods  listers.PodNamespaceLister
	podEvents cache.SharedIndexInformer
}

// play plays on nodes, which nothing runs yet. They are spread over zones.
func (o *options) play(ctx context.Context, stage *sidebyside.Play[scenario]) (*sidebyside.Record, error) {
	const zones = 4
	p := &play{Play: stage, options: o}
	if err := sidebyside.Each(ctx, o.nodes, func(ctx context.Context, i int) error {
		zone := fmt.Sprintf("zone-%d", i%zones+1)
		return fleet.Register(ctx, p.Client, fleet.Node("default", zone, nodeName(i)))
	}); err != nil {
		return nil, err
	}
	if err := p.Caches(ctx, func(factory informers.SharedInformerFactory) {
		core := factory.Core().V1()
		p.seenNodes, p.seenPods = core.Nodes().Lister(), core.Pods().Lister().Pods(namespace)
		p.podEvents = core.Pods().Informer()
	}); err != nil {
		return nil, err
	}
	if p.Scenario == circle {
		return &p.record, p.playCircle(ctx)
	}
	return &p.record, p.playAlone(ctx)
}

// awaiting looks at what is missing until nothing is, while the processes run. On
// two cores that others use as well, 60 pods a second become ready.
func (p *play) awaiting(what string, missing func() error) sidebyside.Step {
	const patience, period = 15 * time.Minute, 50 * time.Millisecond
	return func(ctx context.Context) error {
		return p.running.For(ctx, patience, period, what, func(context.Context) error { return missing() })
	}
}

// A step does something and waits until nothing is missing. Without an act it
// goes on with that of the step before. Its title is its row.
type step struct {
	title   string
	act     sidebyside.Step
	missing func() error
}

// steps plays steps, and takes the time since the last act began.
func (p *play) steps(ctx context.Context, steps ...step) error {
	begun := time.Now()
	for _, s := range steps {
		if s.act != nil {
			begun = time.Now()
			if err := s.act(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.title, err)
			}
		}
		if err := p.awaiting(s.title, s.missing)(ctx); err != nil {
			return err
		}
		took := time.Since(begun).Seconds()
		p.record.Add(s.title, sidebyside.Seconds, took)
		p.Say("%6.1f s  %s", took, s.title)
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

func podName(app string, i int) string { return fmt.Sprintf("%s-%06d", app, i) }

// create creates a pod of an app on a node.
func (p *play) create(ctx context.Context, app string, i int, node string, tolerations ...corev1.Toleration) error {
	pod := fleet.NewPod(podName(app, i), app, tolerations...)
	pod.Spec.NodeName = node
	_, err := p.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// nodesAre returns an error until so many nodes are as they should be.
func (p *play) nodesAre(wanted int, what string, is func(*corev1.Node) bool) error {
	nodes, err := p.seenNodes.List(labels.Everything())
	return errors.Join(err, missing(wanted, "nodes "+what, nodes, is))
}

// podsAre returns an error until so many pods of an app are as they should be.
func (p *play) podsAre(app string, wanted int, what string, is func(*corev1.Pod) bool) error {
	pods, err := p.seenPods.List(labels.SelectorFromSet(labels.Set{fleet.AppLabel: app}))
	return errors.Join(err, missing(wanted, fmt.Sprintf("pods %s %s", app, what), pods, is))
}

// areReady returns an error until so many pods of an app are ready and no other
// pod of it is left.
func (p *play) areReady(app string, wanted int) error {
	return errors.Join(
		p.podsAre(app, wanted, "are ready", fleet.IsReady),
		p.podsAre(app, wanted, "exist", func(*corev1.Pod) bool { return true }),
	)
}

// missing returns an error unless so many of some objects are as they should
// be.
func missing[T any](wanted int, what string, all []T, is func(T) bool) error {
	there := 0
	for _, one := range all {
		if is(one) {
			there++
		}
	}
	if there != wanted {
		return fmt.Errorf("%w: %d of %d %s", errMissing, there, wanted, what)
	}
	return nil
}

func isReadyNode(node *corev1.Node) bool {
	_, ready := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}
