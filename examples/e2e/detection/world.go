package detection

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A world is a fleet on a control plane, and the subject.
type world struct {
	*sidebyside.Stage
	*fleet.World
	*options
	running *sidebyside.Processes
}

// newWorld returns a world in which each node reports and has its pods. No node
// has a taint except one that the subject must remove: see canary. The caller
// calls End.
func newWorld(ctx context.Context, o *options, stage *sidebyside.Stage) (*world, error) {
	var pods []fleet.Pod
	for _, k := range o.kinds() {
		pods = append(pods, k.pod())
	}
	w := &world{Stage: stage, options: o}
	var err error
	w.World, err = fleet.NewWorld(ctx, fleet.Config{
		REST: sidebyside.Protobuf(stage.Plane.RESTConfig()), Zones: o.zones(), Interval: o.times.beat,
	}, pods...)
	if err != nil {
		return nil, err
	}
	if err := w.prepareNodes(ctx); err != nil {
		return nil, errors.Join(err, w.End())
	}
	return w, nil
}

// prepareNodes takes away the taint that the API server gives each new node.
// Otherwise both subjects would spend a minute on that.
func (w *world) prepareNodes(ctx context.Context) error {
	nodes := w.AllNodes()
	return sidebyside.Each(ctx, len(nodes), func(ctx context.Context, i int) error {
		if nodes[i] == w.canary() {
			return nil
		}
		_, err := w.Client.CoreV1().Nodes().Patch(ctx, nodes[i], types.MergePatchType,
			[]byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
		return err
	})
}

// canary is the node whose taint shows that the subject works. It never dies.
func (w *world) canary() string {
	nodes := w.Nodes(lasting)
	return nodes[len(nodes)-1]
}

// mixed are all nodes, each next to those of other zones.
func (w *world) mixed() []string {
	zones := append(slices.Clone(losing), lasting)
	var mixed []string
	for i := range w.nodes {
		for _, zone := range zones {
			if nodes := w.Nodes(zone); i < len(nodes) {
				mixed = append(mixed, nodes[i])
			}
		}
	}
	return mixed
}

// launch starts the subject, and waits until it works.
func (w *world) launch(ctx context.Context, elect bool) (err error) {
	if w.running, err = w.Launch(w.args(w.Subject, elect)...); err != nil {
		return err
	}
	return w.running.Until(ctx, "the subject to take a taint away", func(context.Context) (bool, error) {
		err := w.Witness.All([]string{w.canary()}, (*witness.Node).WantUntainted)
		return err == nil, err
	})
}

// evicted returns when the API server received the first request of the subject
// that deleted a pod, by the name of the pod.
func (w *world) evicted(ctx context.Context) (map[string]time.Time, error) {
	requests, err := w.Plane.Requests(ctx, controlplane.Filter{
		User: sidebyside.User, Verb: "delete", Resource: "pods", Namespace: fleet.Namespace,
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
	var nodes []judge.Node
	for _, name := range w.mixed() {
		seen := w.Witness.Of(name)
		node := judge.Node{
			Name: name, Died: w.Died(name), Unknown: spans(seen.Unknown), Tainted: spans(seen.Tainted),
			TaintAdded: seen.TaintAdded,
		}
		if beats := w.Beats(name); len(beats) > 0 {
			var last fleet.Beat
			last, node.Silence = longestSilence(beats)
			node.LastBeat = last.Sent
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

// longestSilence returns the last of some heartbeats and the longest time
// between two of them.
func longestSilence(beats []fleet.Beat) (last fleet.Beat, silence time.Duration) {
	last = beats[0]
	for _, beat := range beats[1:] {
		silence = max(silence, beat.Acknowledged.Sub(last.Sent))
		if beat.Sent.After(last.Sent) {
			last = beat
		}
	}
	return last, silence
}

func spans(sightings []witness.Sighting) []judge.Span {
	var all []judge.Span
	for _, s := range sightings {
		all = append(all, judge.Span{From: s.At, To: s.Ended})
	}
	return all
}
