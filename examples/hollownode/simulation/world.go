package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Namespace is the one of all pods, except static pods that name another.
const Namespace = "shop"

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

// A World is a cluster with the kubelets of its nodes. It begins empty and
// without a process. Its caller plays with it, or it is that of a [Scenario].
// Nothing goes wrong in it but what they do. It is not safe for concurrent use.
type World struct {
	*cluster.Cluster

	config   WorldConfig
	random   *rand.Rand
	history  *invariant.History
	process  *process
	lives    int       // of processes
	runtime  *recorder // nil while there is none
	runtimes int
	numbers  int
}

// NewWorld returns a World.
func NewWorld(config WorldConfig) *World {
	static := make([]*corev1.Pod, len(config.Fleet.StaticPods))
	for i, pod := range config.Fleet.StaticPods {
		static[i] = pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&static[i].ObjectMeta, invariant.ManifestAnnotation, strconv.Itoa(i+1))
	}
	config.Fleet.StaticPods = static
	w := &World{config: config, history: &invariant.History{}}
	w.Cluster = cluster.New(cluster.Config{
		Network: network.Config{
			Seed: config.Seed, Start: time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC),
			Latency:    network.Span{Min: 2 * time.Millisecond, Max: 40 * time.Millisecond},
			WatchDelay: network.Span{Min: time.Millisecond, Max: 50 * time.Millisecond},
		},
		Namespace: Namespace, Stored: w.stored,
	})
	w.random = w.Random("script")
	w.Watch(witness{world: w})
	w.LoseCalls(w.isClosed)
	w.history.Manifests = []invariant.Manifests{{At: w.Now(), Pods: static}}
	return w
}

// isClosed reports whether the connection of a call is closed when it would
// arrive. That is so of a call that was given up. When a process ends, most of
// what is under way arrives, but not after the next process has begun: a
// kubelet's write of a status, which only the UID guards, would undo a newer
// one.
func (w *World) isClosed(call *network.Call) bool {
	givenUp, former := w.Elapsed()-call.SentAt >= call.Wait(), call.Client != w.process.Client
	return givenUp || former || call.Client.Stopped() && w.random.IntN(4) == 0
}

// between returns a random time.
func (w *World) between(least, most time.Duration) time.Duration {
	return network.Span{Min: least, Max: most}.Pick(w.random)
}

// Nodes returns all nodes by name. They must not be changed.
func (w *World) Nodes() []*corev1.Node { return cluster.List[*corev1.Node](w.Cluster, network.Nodes) }

// Pods returns all pods by name. They must not be changed.
func (w *World) Pods() []*corev1.Pod { return cluster.List[*corev1.Pod](w.Cluster, network.Pods) }

// History returns what has happened. It grows.
func (w *World) History() *invariant.History { return w.history }

// Begin starts a process, and a runtime if there is none. That has the
// containers that the API server shows.
func (w *World) Begin() error {
	if w.runtime == nil {
		w.runtimes++
		var err error
		if w.runtime, err = newRecorder(w.Now(), w.history, w.runtimes); err != nil {
			return fmt.Errorf("start a runtime: %w", err)
		}
		if network := w.config.PodNetwork; network != "" {
			if err := w.runtime.SetPodNetwork(network); err != nil {
				return fmt.Errorf("start a runtime: %w", err)
			}
		}
	}
	for _, node := range w.Nodes() {
		w.history.Starts = append(w.history.Starts, invariant.Start{Node: node.Name, At: w.Now()})
	}
	return w.start()
}

// Kill ends the process, with the containers of all nodes.
func (w *World) Kill() { w.kill(true) }

// kill ends the process, and with it all that its nodes were told to be wrong.
// Its runtime ends too if all ends.
func (w *World) kill(all bool) {
	w.process.End("killed")
	for _, node := range slices.Sorted(maps.Keys(w.process.broken)) {
		w.mended(node, w.process.broken[node])
	}
	clear(w.process.broken)
	if all && w.runtime != nil {
		w.runtime.end(w.Now())
		w.runtime = nil
	}
}

// End takes off the faults of nodes that still last, leaves the cluster alone
// until nothing is under way any more, and returns what has happened by then.
func (w *World) End() *invariant.History {
	w.heal()
	w.Advance(w.Elapsed() + RestTime)
	return w.end()
}

// end ends the process, its runtime and the history.
func (w *World) end() *invariant.History {
	w.Kill()
	w.history.End = w.Now()
	return w.history
}

// heal has clients take off what would last: steps of one kind can cut each
// other short, or begin while a node is away.
func (w *World) heal() {
	for _, node := range w.Nodes() {
		w.changeNode(node.Name, func(node *corev1.Node) { node.Annotations = lasting(node.Annotations) })
	}
}
