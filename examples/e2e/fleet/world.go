package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A World is a fleet at work, and what really happens to its nodes: which
// heartbeats were stored, which nodes have died, and what a witness sees of
// them. Its methods may be called concurrently.
type World struct {
	*Fleet
	Witness *witness.Witness

	stop  context.CancelFunc
	group *errgroup.Group

	mu    sync.Mutex
	beats map[string][]Beat
	died  map[string]time.Time
}

// NewWorld returns a world in which every node reports and has a pod of each
// kind. It sets Stored. The caller calls End.
func NewWorld(ctx context.Context, config Config, kinds ...Pod) (*World, error) {
	watching, err := newClient(config.REST, nil)
	if err != nil {
		return nil, err
	}
	w := &World{Witness: witness.New(watching), beats: map[string][]Beat{}, died: map[string]time.Time{}}
	config.Stored = w.store
	if w.Fleet, err = New(ctx, config); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	w.stop = stop
	w.group, running = errgroup.WithContext(running)
	w.group.Go(func() error { return w.Run(running) })
	w.group.Go(func() error {
		w.Witness.Run(running)
		return nil
	})
	nodes := w.AllNodes()
	if err = w.AddPods(ctx, nodes, kinds...); err == nil {
		err = wait.Until(ctx, "every node to report", func(context.Context) (bool, error) {
			return true, w.Witness.All(nodes, (*witness.Node).WantReady)
		})
	}
	if err != nil {
		return nil, errors.Join(err, w.End())
	}
	return w, nil
}

// End ends the fleet and the witness.
func (w *World) End() error {
	w.stop()
	return w.group.Wait()
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
