package fleet

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A World is a fleet at work, and what really happens to its nodes.
type World struct {
	*Fleet
	Witness *witness.Witness
	stage   *sidebyside.Stage
	died    map[string]time.Time
}

// NewWorld returns a world of nodes by zone on the control plane of a play, in
// which every node reports each interval and has a pod of each kind. It ends
// with the play.
func NewWorld(
	ctx context.Context, stage *sidebyside.Stage, zones map[string]int, interval time.Duration, kinds ...Pod,
) (*World, error) {
	access := sidebyside.Protobuf(stage.Plane.RESTConfig())
	watching, err := newClient(access)
	if err != nil {
		return nil, err
	}
	w := &World{Witness: witness.New(watching), stage: stage, died: map[string]time.Time{}}
	if w.Fleet, err = New(ctx, access, zones, interval); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return w.Run(running) })
	group.Go(func() error {
		w.Witness.Run(running)
		return nil
	})
	stage.AtEnd(func() error {
		stop()
		return group.Wait()
	})
	nodes := w.AllNodes()
	if err := w.AddPods(ctx, nodes, kinds...); err != nil {
		return nil, err
	}
	return w, wait.Until(ctx, "every node to report", func(context.Context) error {
		return w.Witness.All(nodes, (*witness.Node).WantReady)
	})
}

// Kill cuts nodes off for good.
func (w *World) Kill(names ...string) {
	w.Cut(names...)
	for _, name := range names {
		w.died[name] = time.Now()
	}
}

// FirstDeath is when the first node died, zero if none has.
func (w *World) FirstDeath() (first time.Time) {
	for _, died := range w.died {
		if first.IsZero() || died.Before(first) {
			first = died
		}
	}
	return first
}

// A Life is the history of a node. None of its sources is the subject.
type Life struct {
	// Node is what a watch has shown of it.
	witness.Node
	Name string
	// Died is when it was cut off for good. Zero: it lives.
	Died time.Time
	// Beats are its heartbeats that the API server has stored.
	Beats []Beat
	// Written is when the API server received the writes of the subject to its
	// status, Deleted when it received the deletions of its pods, by their kind.
	Written []time.Time
	Deleted map[string][]time.Time
}

// Lives returns the history of all nodes and of their pods of some kinds.
func (w *World) Lives(ctx context.Context, kinds ...string) ([]Life, error) {
	beats, err := BeatsOf(ctx, w.stage.Plane, time.Time{})
	if err != nil {
		return nil, err
	}
	written, err := w.stage.Done(ctx,
		controlplane.Filter{Resource: "nodes/status", Verb: "update"},
		controlplane.Filter{Resource: "nodes/status", Verb: "patch"})
	if err != nil {
		return nil, err
	}
	deleted, err := w.stage.Done(ctx, controlplane.Filter{Verb: "delete", Resource: "pods", Namespace: Namespace})
	if err != nil {
		return nil, err
	}
	var lives []Life
	for _, name := range w.AllNodes() {
		life := Life{
			Node: w.Witness.Of(name), Name: name, Died: w.died[name], Beats: beats[name],
			Written: written[name], Deleted: map[string][]time.Time{},
		}
		for _, kind := range kinds {
			life.Deleted[kind] = deleted[PodName(kind, name)]
		}
		lives = append(lives, life)
	}
	return lives, nil
}

// A Beat is a heartbeat that the API server has stored: a renewal of a lease,
// or a status. It was stored after Received and before Answered.
type Beat struct{ Received, Answered time.Time }

// BeatsOf returns the heartbeats of each node of a fleet that the API server has
// stored and received since a time, by its audit log. Those of a node are in the
// order of their reception.
func BeatsOf(
	ctx context.Context, plane *controlplane.ControlPlane, since time.Time,
) (map[string][]Beat, error) {
	requests, err := plane.Requests(ctx, controlplane.Filter{UserAgent: Name, Since: since})
	return beatsIn(requests), err
}

func beatsIn(requests []controlplane.Request) map[string][]Beat {
	beats := map[string][]Beat{}
	for _, r := range requests {
		switch r.Verb + " " + r.FullResource() {
		case "patch nodes/status", "create leases", "update leases":
			if r.Succeeded() {
				beats[r.Name] = append(beats[r.Name], Beat{r.Received, r.Answered})
			}
		}
	}
	return beats
}
