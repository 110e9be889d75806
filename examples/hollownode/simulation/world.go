package simulation

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// The resources of a [World].
var (
	PodResource  = resourceOf(invariant.Pods)
	NodeResource = resourceOf(invariant.Nodes)
)

// WorldConfig is what a [World] begins with.
type WorldConfig struct {
	// Seed decides all that is left to chance.
	Seed uint64
	// Fleet is that of each process. Its runtime and chance are the World's.
	Fleet kubelet.FleetConfig
	// PodNetwork is that of the pods. Empty means the default of the runtime.
	PodNetwork string
	// Register are the nodes that create their objects.
	Register []*corev1.Node
	// Workers is how many calls run at a time.
	Workers int
}

// A World is a cluster that its caller plays with, instead of a [Scenario]. It
// begins empty and without a process, and nothing goes wrong in it. The nodes
// renew leases. It is not safe for concurrent use.
type World struct {
	// Client is that of users. Its namespace is [Namespace].
	apiserver.Client

	simulation *simulation
}

// NewWorld returns a World.
func NewWorld(config WorldConfig) *World {
	static := make([]*corev1.Pod, len(config.Fleet.StaticPods))
	for i, pod := range config.Fleet.StaticPods {
		static[i] = pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&static[i].ObjectMeta, invariant.ManifestAnnotation, strconv.Itoa(i+1))
	}
	config.Fleet.StaticPods = static
	s := newSimulation(config.Seed, kubelets{
		fleet: config.Fleet, network: config.PodNetwork, workers: config.Workers, register: config.Register,
		beats: newHeartbeats,
	})
	s.history.Manifests = []invariant.Manifests{{At: s.Now(), Pods: static}}
	return &World{Client: apiserver.Client{Server: s.server, Namespace: Namespace, Now: s.Now}, simulation: s}
}

// Begin starts a process. Its runtime has the containers that the API server
// shows.
func (w *World) Begin() error { return w.simulation.takeOver() }

// Kill ends the process, with the containers of all nodes.
func (w *World) Kill() { w.simulation.kill(true) }

// Elapsed returns how much time has passed.
func (w *World) Elapsed() time.Duration { return w.simulation.Elapsed() }

// Advance lets everything happen up to a time.
func (w *World) Advance(until time.Duration) { w.simulation.Run(until, math.MaxInt) }

// At plans something that happens in the World.
func (w *World) At(at time.Duration, do func()) { w.simulation.After(at-w.Elapsed(), do) }

// Version returns the version of the last change.
func (w *World) Version() uint64 { return w.simulation.store.Version() }

// History returns what has happened. It grows.
func (w *World) History() *invariant.History { return w.simulation.history }

// Leases returns the changes of leases, the last 65,536 at least.
func (w *World) Leases() []apiserver.Record { return w.simulation.store.Records(leaseResource) }

// Requests returns how often the nodes have sent each kind of request, as in
// "patch pods/status".
func (w *World) Requests() map[string]int { return w.simulation.requests }

// End takes off the faults of nodes that still last, leaves the cluster alone
// until nothing is under way any more, and returns what has happened by then.
func (w *World) End() *invariant.History {
	w.simulation.heal()
	w.Advance(w.Elapsed() + RestTime)
	w.simulation.end()
	return w.simulation.history
}

// Nodes returns all nodes by name. They must not be changed.
func (w *World) Nodes() []*corev1.Node {
	return list[*corev1.Node](w.simulation.cluster, invariant.Nodes)
}

// Pods returns all pods by name. They must not be changed.
func (w *World) Pods() []*corev1.Pod { return list[*corev1.Pod](w.simulation.cluster, invariant.Pods) }
