package simulation

import (
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// WorldConfig is what a [World] begins with.
type WorldConfig struct {
	// Seed decides all that is left to chance.
	Seed       uint64
	Controller controller.Config
	Kubelets   Kubelets
}

// A World is a cluster that its caller plays with, instead of a [Scenario]. It
// begins empty, and nothing goes wrong in it. It is not safe for concurrent
// use.
type World struct {
	// Client is that of users. Its namespace is [Namespace].
	apiserver.Client

	cluster *cluster
	process *process
}

// The resources of a [World].
var (
	NodeResource = resourceOf(invariant.Nodes)
	SetResource  = resourceOf(invariant.Sets)
)

// NewWorld returns a World in which the controller runs.
func NewWorld(config WorldConfig) (*World, error) {
	c := newCluster(config.Seed, config.Kubelets)
	w := &World{Client: apiserver.Client{Server: c.server, Namespace: Namespace, Now: c.Now}, cluster: c}
	requests := config.Controller.Requests
	w.cluster.history.PerSecond, w.cluster.history.Burst = float64(requests.PerSecond), requests.Burst
	var err error
	if w.process, err = start(w.cluster, &faults{}, config.Controller, 0); err != nil {
		return nil, err
	}
	w.cluster.watching = w.process.told
	return w, nil
}

// Elapsed returns how much time has passed.
func (w *World) Elapsed() time.Duration { return w.cluster.Elapsed() }

// Advance lets everything happen up to a time.
func (w *World) Advance(until time.Duration) { w.cluster.Run(until, math.MaxInt) }

// At plans something that happens in the World.
func (w *World) At(at time.Duration, do func()) { w.cluster.After(at-w.Elapsed(), do) }

// History returns what has happened. It grows.
func (w *World) History() *invariant.History { return w.cluster.history }

// End leaves the cluster alone until nothing is under way any more, and returns
// what has happened by then. It also returns from when on no request may have
// been sent.
func (w *World) End() (history *invariant.History, quietFrom time.Time) {
	w.Advance(w.Elapsed() + RestTime)
	w.process.end()
	w.cluster.history.End = w.cluster.Now()
	return w.cluster.history, w.cluster.Now().Add(-5 * time.Minute)
}

// Nodes returns all nodes by name. They must not be changed.
func (w *World) Nodes() []*corev1.Node { return list[*corev1.Node](w.cluster, invariant.Nodes) }

// Pods returns all pods by name. They must not be changed.
func (w *World) Pods() []*corev1.Pod { return list[*corev1.Pod](w.cluster, invariant.Pods) }

// Sets returns all DaemonSets by name. They must not be changed.
func (w *World) Sets() []*appsv1.DaemonSet { return list[*appsv1.DaemonSet](w.cluster, invariant.Sets) }

// Revisions returns all ControllerRevisions by name. They must not be changed.
func (w *World) Revisions() []*appsv1.ControllerRevision {
	return list[*appsv1.ControllerRevision](w.cluster, invariant.Revisions)
}

// Create creates objects. A node gets a kubelet.
func (w *World) Create(resource schema.GroupVersionResource, objects ...runtime.Object) error {
	for _, object := range objects {
		if node, ok := object.(*corev1.Node); ok {
			w.cluster.nodes[node.Name] = &machine{}
		}
	}
	return w.Client.Create(resource, objects...)
}
