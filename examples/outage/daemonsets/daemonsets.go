// Package daemonsets runs the DaemonSet controller of examples/daemonset in a
// world of examples/outage/model, beside whatever else runs there. So what
// evicts its pods, and what it makes of that, are seen together.
//
//	controller, err := daemonsets.Start(world, daemonsets.Config{Name: "daemonsets", Controller: config})
//	set := daemonsets.NewSet("agent", corev1.Container{Name: "agent", Image: "agent:1"})
//	err = world.Users().Create(network.DaemonSets.Resource(), set)
//
// It runs without a leader election: the lease of a world is that of the node
// lifecycle controller.
package daemonsets

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
)

// NewSet returns a DaemonSet of a world whose pods have one container. It rolls
// out as the API has it by default.
func NewSet(name string, container corev1.Container) *appsv1.DaemonSet {
	labels := map[string]string{model.OwnerLabel: name}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: model.Namespace, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{container}
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	return set
}

// Config is one life of the controller.
type Config struct {
	// Name is the process's, Life counts its starts from 1.
	Name       string
	Life       int
	Controller controller.Config
	// Wrap changes what the actions of the controller do. Nil leaves them.
	Wrap func(controller.Actions) controller.Actions
	// Began is that of [program.Config].
	Began func() any
}

// A Process is one life of the controller.
type Process struct {
	*program.Process

	// Core is the controller itself. Its turns go through Update.
	Core *controller.Controller
}

// jobTimeout is that of daemonset/runner.
const jobTimeout = 30 * time.Second

// Start begins a life of the controller. It goes on until its End.
func Start(world *model.World, config Config) (*Process, error) {
	core, err := controller.NewController(config.Controller, world.Now())
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", config.Name, err)
	}
	p := program.New(world.Network, program.Config{
		Name: config.Name, Life: config.Life, Workers: config.Controller.MostUnderWay(), JobTimeout: jobTimeout,
		Synced: func() { core.MarkSynced(world.Now()) }, Began: config.Began,
	})
	e, err := newEdge(core, p)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", config.Name, err)
	}
	actions := e.Actions()
	if config.Wrap != nil {
		actions = config.Wrap(actions)
	}
	jobs, err := core.Jobs(actions, world.Now())
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", config.Name, err)
	}
	p.Perform(jobs)
	p.Inform(network.DaemonSets, e.Sets)
	p.InformTransformed(network.Pods, e.Pods, trimmed)
	p.InformTransformed(network.Nodes, e.Nodes, trimmed)
	p.Inform(network.Revisions, e.Revisions)
	p.Every(time.Second, e.Expire)
	return &Process{p, core}, nil
}

// trimmed is what the informers of the program keep of pods and nodes. Of sets
// and revisions they drop nothing that a world has.
func trimmed(object network.Object) network.Object {
	kept, err := edge.Trim(object)
	if trimmed, ok := kept.(network.Object); ok && err == nil {
		return trimmed
	}
	return object
}

func newEdge(core *controller.Controller, p *program.Process) (*edge.Edge[*appsv1.DaemonSet], error) {
	return edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: core,
		Observe:    p.Update,
		SetOf:      controller.SetOf,
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
		Sets: func(string) revision.OwnerClient[*appsv1.DaemonSet] {
			return program.Client[*appsv1.DaemonSet]{Kind: network.DaemonSets}
		},
		Pods: func(string) edge.Pods { return program.Client[*corev1.Pod]{Kind: network.Pods} },
		Revisions: func(string) revision.Client {
			return program.Client[*appsv1.ControllerRevision]{Kind: network.Revisions}
		},
		Stores: edge.Stores{
			Sets: p.Store(network.DaemonSets), Pods: p.Store(network.Pods), Revisions: p.Store(network.Revisions),
		},
	})
}
