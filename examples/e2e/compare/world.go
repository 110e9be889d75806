package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/compare/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// concurrency is how many requests prepare the nodes at a time.
const concurrency = 16

// A world is a control plane with a fleet of nodes, and what really happens to
// them.
type world struct {
	options
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	fleet   *fleet.Fleet
	witness *witness.Witness

	stop  context.CancelFunc
	group *errgroup.Group

	mu    sync.Mutex
	beats map[string]*beats
	died  map[string]time.Time
}

// beats are what is known of the heartbeats of a node.
type beats struct {
	last    fleet.Beat
	silence time.Duration
}

// newWorld returns a world in which each node reports and has its pods. No node
// has a taint except one that the subject must remove: see canary. The caller
// calls end.
func newWorld(ctx context.Context, o options, plane *controlplane.ControlPlane) (*world, error) {
	client, err := sidebyside.ProtobufClient(plane.RESTConfig(), "script")
	if err != nil {
		return nil, err
	}
	watching, err := sidebyside.ProtobufClient(plane.RESTConfig(), "witness")
	if err != nil {
		return nil, err
	}
	w := &world{
		options: o, plane: plane, client: client, witness: witness.New(watching),
		beats: map[string]*beats{}, died: map[string]time.Time{},
	}
	w.fleet, err = fleet.New(ctx, fleet.Config{
		REST: sidebyside.Protobuf(plane.RESTConfig()), Zones: o.zones(), Interval: o.times.beat,
		Stored: w.store,
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	w.stop = stop
	w.group, running = errgroup.WithContext(running)
	w.group.Go(func() error { return w.fleet.Run(running) })
	w.group.Go(func() error {
		w.witness.Run(running)
		return nil
	})
	if err := w.prepare(ctx); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// end ends the fleet and the witness.
func (w *world) end() error {
	w.stop()
	return w.group.Wait()
}

// prepare creates the pods, and takes away the taint that the API server gives
// each new node. Otherwise both subjects would spend a minute on that.
func (w *world) prepare(ctx context.Context) error {
	var pods []fleet.Pod
	for _, k := range w.kinds() {
		pods = append(pods, k.pod())
	}
	nodes := w.fleet.AllNodes()
	if err := w.fleet.AddPods(ctx, nodes, pods...); err != nil {
		return err
	}
	if err := w.await(ctx, "every node to report", nodes, (*witness.Node).WantReady); err != nil {
		return err
	}
	group, patching := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, name := range nodes {
		if name == w.canary() {
			continue
		}
		group.Go(func() error {
			_, err := w.client.CoreV1().Nodes().Patch(patching, name, types.MergePatchType,
				[]byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
			return err
		})
	}
	return group.Wait()
}

// canary is the node whose taint shows that the subject works. It never dies.
func (w *world) canary() string {
	nodes := w.fleet.Nodes(lasting)
	return nodes[len(nodes)-1]
}

// mixed are all nodes, each next to those of other zones.
func (w *world) mixed() []string {
	zones := append(slices.Clone(losing), lasting)
	var mixed []string
	for i := range w.nodes {
		for _, zone := range zones {
			if nodes := w.fleet.Nodes(zone); i < len(nodes) {
				mixed = append(mixed, nodes[i])
			}
		}
	}
	return mixed
}

// await waits until the witness has no complaint about nodes.
func (w *world) await(
	ctx context.Context, what string, nodes []string, complain func(*witness.Node) error,
) error {
	return wait.Until(ctx, what, func(context.Context) (bool, error) {
		err := w.witness.All(nodes, complain)
		return err == nil, err
	})
}

// launch starts a subject, and waits until it works.
func (w *world) launch(ctx context.Context, s subject, program string) (*controlplane.Process, error) {
	kubeconfig, err := w.plane.UserKubeconfig(s.name, "system:masters")
	if err != nil {
		return nil, err
	}
	args := append([]string{"--kubeconfig=" + kubeconfig}, w.times.common()...)
	process, err := controlplane.StartProcess(controlplane.Command{
		Name: s.name, Path: program, Args: append(args, s.args(w.times)...),
		LogFile: filepath.Join(w.plane.Dir(), s.name+".log"),
	})
	if err != nil {
		return nil, err
	}
	err = wait.Until(ctx, s.name+" to take a taint away", func(context.Context) (bool, error) {
		if err := alive(process); err != nil {
			return false, err
		}
		err := w.witness.All([]string{w.canary()}, (*witness.Node).WantUntainted)
		return err == nil, err
	})
	if err != nil {
		process.Stop(stopGrace)
		return nil, err
	}
	return process, nil
}

// stopGrace is how long a process may take to end by itself.
const stopGrace = 5 * time.Second

// alive returns an error with the end of the log when a process has ended.
func alive(process *controlplane.Process) error {
	if process.Running() {
		return nil
	}
	return fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(20))
}

// store records a heartbeat that the API server has stored.
func (w *world) store(beat fleet.Beat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, known := w.beats[beat.Node]
	if !known {
		w.beats[beat.Node] = &beats{last: beat}
		return
	}
	b.silence = max(b.silence, beat.Acknowledged.Sub(b.last.Sent))
	if beat.Sent.After(b.last.Sent) {
		b.last = beat
	}
}

// kill cuts nodes off for good.
func (w *world) kill(names ...string) {
	w.fleet.Cut(names...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.died[name] = time.Now()
	}
}

// firstDeath is when the first node died, zero if none has.
func (w *world) firstDeath() (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, died := range w.died {
		if first.IsZero() || died.Before(first) {
			first = died
		}
	}
	return first
}

// evicted returns when the API server received the first request of a subject
// that deleted a pod, by the name of the pod.
func (w *world) evicted(ctx context.Context, s subject) (map[string]time.Time, error) {
	requests, err := w.plane.Requests(ctx, controlplane.Filter{
		User: s.name, Verb: "delete", Resource: "pods", Namespace: fleet.Namespace,
	})
	if err != nil {
		return nil, err
	}
	evicted := map[string]time.Time{}
	for i := range requests {
		r := &requests[i]
		if _, known := evicted[r.Name]; !known && r.Code >= 200 && r.Code < 300 {
			evicted[r.Name] = r.Received
		}
	}
	return evicted, nil
}

// history is what the fleet, the witness and the audit log say of each node.
func (w *world) history(evicted map[string]time.Time, now time.Time) []judge.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes []judge.Node
	for _, name := range w.mixed() {
		seen := w.witness.Of(name)
		node := judge.Node{
			Name: name, Died: w.died[name], Unknown: spans(seen.Unknown), Tainted: spans(seen.Tainted),
			TaintAdded: seen.TaintAdded,
		}
		if b, known := w.beats[name]; known {
			node.LastBeat, node.Silence = b.last.Sent, b.silence
			if node.Died.IsZero() {
				node.Silence = max(node.Silence, now.Sub(node.LastBeat))
			}
		}
		for _, k := range w.kinds() {
			pod := judge.Pod{Name: fleet.PodName(k.name, name), Tolerates: k.tolerates}
			pod.Evicted = evicted[pod.Name]
			node.Pods = append(node.Pods, pod)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func spans(sightings []witness.Sighting) []judge.Span {
	var all []judge.Span
	for _, s := range sightings {
		all = append(all, judge.Span{From: s.At, To: s.Ended})
	}
	return all
}
