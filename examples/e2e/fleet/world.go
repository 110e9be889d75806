package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A World is a fleet at work, and what really happens to its nodes: which
// heartbeats were stored, which nodes have died, and what a witness sees of
// them. Its methods may be called concurrently.
type World struct {
	*Fleet
	Witness *witness.Witness

	mu    sync.Mutex
	beats map[string][]Beat
	died  map[string]time.Time
}

// NewWorld returns a world of nodes by zone on the control plane of a play, in
// which every node reports each interval and has a pod of each kind. It ends
// with the play.
func NewWorld(
	ctx context.Context, stage *sidebyside.Stage, zones map[string]int, interval time.Duration, kinds ...Pod,
) (*World, error) {
	access := sidebyside.Protobuf(stage.Plane.RESTConfig())
	watching, err := newClient(access, nil)
	if err != nil {
		return nil, err
	}
	w := &World{Witness: witness.New(watching), beats: map[string][]Beat{}, died: map[string]time.Time{}}
	config := Config{REST: access, Zones: zones, Interval: interval, Stored: w.store}
	if w.Fleet, err = New(ctx, config); err != nil {
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

// store records a heartbeat that the API server has stored.
func (w *World) store(beat Beat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beats[beat.Node] = append(w.beats[beat.Node], beat)
}

// Kill cuts nodes off for good.
func (w *World) Kill(names ...string) {
	w.Cut(names...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.died[name] = time.Now()
	}
}

// Died is when a node died. Zero: it lives.
func (w *World) Died(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.died[name]
}

// FirstDeath is when the first node died, zero if none has.
func (w *World) FirstDeath() (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, died := range w.died {
		if first.IsZero() || died.Before(first) {
			first = died
		}
	}
	return first
}

// Beats returns the heartbeats of a node that were stored, in the order of
// their acknowledgement.
func (w *World) Beats(name string) []Beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.beats[name]) // which is only appended to
}

// BeatsStored is how many heartbeats were stored so far, of all nodes.
func (w *World) BeatsStored() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, beats := range w.beats {
		n += len(beats)
	}
	return n
}
