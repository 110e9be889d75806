package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// times are the periods of a play.
type times struct {
	// beat is how far apart the heartbeats of a node are.
	beat time.Duration
	// grace is how long a node may be silent.
	grace time.Duration
}

// usual are the periods of the table.
var usual = times{beat: 5 * time.Second, grace: 20 * time.Second}

// pod is the kind of pod that every node has one of: it leaves with the taint.
const pod = "web"

// A world is a control plane with a fleet of nodes that beat, and what really
// happened to them.
type world struct {
	plane   *controlplane.ControlPlane
	fleet   *fleet.Fleet
	witness *witness.Witness
	times   times

	stop  context.CancelFunc
	group *errgroup.Group

	mu    sync.Mutex
	beats map[string][]judge.Beat
	died  map[string]time.Time
	down  []judge.Span
}

// newWorld returns a world in which every node reports and has its pod. Its
// caller calls end.
func newWorld(
	ctx context.Context, plane *controlplane.ControlPlane, zones map[string]int, times times,
) (*world, error) {
	client, err := sidebyside.ProtobufClient(plane.RESTConfig(), "witness")
	if err != nil {
		return nil, err
	}
	w := &world{
		plane: plane, witness: witness.New(client), times: times,
		beats: map[string][]judge.Beat{}, died: map[string]time.Time{},
	}
	w.fleet, err = fleet.New(ctx, fleet.Config{
		REST: sidebyside.Protobuf(plane.RESTConfig()), Zones: zones, Interval: times.beat, Stored: w.store,
	})
	if err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.group, ctx = errgroup.WithContext(ctx)
	w.group.Go(func() error { return w.fleet.Run(ctx) })
	w.group.Go(func() error {
		w.witness.Run(ctx)
		return nil
	})
	nodes := w.fleet.AllNodes()
	err = w.fleet.AddPods(ctx, nodes, fleet.Pod{Name: pod, Tolerations: fleet.Tolerate(new(int64(0)))})
	if err != nil {
		return nil, errors.Join(err, w.end())
	}
	if err := w.await(ctx, "every node to report", nodes, (*witness.Node).WantReady); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// end ends the fleet and the witness.
func (w *world) end() error {
	w.stop()
	return w.group.Wait()
}

func (w *world) store(beat fleet.Beat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stored := judge.Beat{Sent: beat.Sent, Acknowledged: beat.Acknowledged}
	w.beats[beat.Node] = append(w.beats[beat.Node], stored)
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

// doomed are those of some nodes that die in a scenario: the last of each zone.
// A zone is the first letter of a name.
func doomed(nodes []string) []string {
	last := map[byte]string{}
	for _, name := range nodes {
		last[name[0]] = max(last[name[0]], name)
	}
	return slices.Sorted(maps.Values(last))
}

// lasting are the other nodes, each next to those of other zones.
func lasting(nodes []string) []string {
	die := doomed(nodes)
	live := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool {
		return slices.Contains(die, name)
	})
	slices.SortFunc(live, func(a, b string) int {
		return cmp.Or(cmp.Compare(a[1:], b[1:]), cmp.Compare(a, b))
	})
	return live
}

// kill cuts the doomed off for good.
func (w *world) kill() {
	dead := doomed(w.fleet.AllNodes())
	w.fleet.Cut(dead...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range dead {
		w.died[name] = time.Now()
	}
}

// death is when the first node died, zero if none has.
func (w *world) death() (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, died := range w.died {
		if first.IsZero() || died.Before(first) {
			first = died
		}
	}
	return first
}

// outage kills the API server, calls during, and starts it again a time after
// it was killed.
func (w *world) outage(ctx context.Context, length time.Duration, during func() error) error {
	from := time.Now()
	if err := w.plane.KillAPIServer(); err != nil {
		return err
	}
	gone := time.Now()
	if err := during(); err != nil {
		return err
	}
	if err := wait.PauseUntil(ctx, from.Add(length)); err != nil {
		return err
	}
	if err := w.plane.RestartAPIServer(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = append(w.down, judge.Span{From: from, Until: w.firstBeat(gone, time.Now())})
	return nil
}

// firstBeat is when the first beat was acknowledged that was sent after a time,
// or latest. An API server stores beats before it says that it is ready.
func (w *world) firstBeat(after, latest time.Time) time.Time {
	for _, beats := range w.beats {
		for _, beat := range beats {
			if beat.Sent.After(after) && beat.Acknowledged.Before(latest) {
				latest = beat.Acknowledged
			}
		}
	}
	return latest
}

// awaitEnd waits until the dead are Unknown or given up, and long enough for
// late declarations of the living.
func (w *world) awaitEnd(ctx context.Context, over time.Time) error {
	if err := wait.PauseUntil(ctx, over.Add(2*w.times.grace)); err != nil {
		return err
	}
	for w.witness.All(doomed(w.fleet.AllNodes()), (*witness.Node).WantUnknown) != nil {
		if time.Since(over) > given*w.times.grace {
			return nil
		}
		if err := wait.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

const (
	// missed is after how many grace periods from when it could be found a dead
	// node that is not declared is missed.
	missed = 3
	// given is how many grace periods a play waits for it, so that the table has
	// the time of one that is declared late.
	given = 6
)

// history is what the API server's audit log, the fleet and the witness say of
// each node.
func (w *world) history(ctx context.Context) ([]judge.Node, error) {
	writes, err := w.received(ctx, controlplane.Filter{User: user, Resource: "nodes/status"})
	if err != nil {
		return nil, err
	}
	deletion := controlplane.Filter{User: user, Resource: "pods", Verb: "delete"}
	deletions, err := w.received(ctx, deletion)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes []judge.Node
	for _, name := range w.fleet.AllNodes() {
		seen := w.witness.Of(name)
		nodes = append(nodes, judge.Node{
			Name: name, Beats: w.beats[name], Died: w.died[name],
			Declared: declared(writes[name], seen.Unknown),
			Unknown:  seen.WantUnknown() == nil,
			Tainted:  len(seen.Tainted) > 0,
			Evicted:  len(deletions[fleet.PodName(pod, name)]),
		})
	}
	return nodes, nil
}

// received returns when the API server received the writes that it carried out,
// by the name of the object.
func (w *world) received(
	ctx context.Context, filter controlplane.Filter,
) (map[string][]time.Time, error) {
	requests, err := w.plane.Requests(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	times := map[string][]time.Time{}
	for _, r := range requests {
		isWrite := slices.Contains([]string{"update", "patch", "delete"}, r.Verb)
		if isWrite && r.Code >= 200 && r.Code < 300 {
			times[r.Name] = append(times[r.Name], r.Received)
		}
	}
	return times, nil
}

// declared joins the writes of the audit log with what was seen. A write whose
// answer the audit log lacks, because the API server was killed, is known only
// because it was seen.
func declared(writes []time.Time, seen []witness.Sighting) []time.Time {
	all := slices.Clone(writes)
	slices.SortFunc(all, time.Time.Compare)
	unexplained := slices.Clone(all)
	for _, s := range seen {
		earlier := slices.IndexFunc(unexplained, s.At.After)
		if earlier < 0 {
			all = append(all, s.At)
			continue
		}
		// One sighting may stand for all writes before it.
		unexplained = slices.DeleteFunc(unexplained, s.At.After)
	}
	return all
}

// rules are what the history is judged by.
func (w *world) rules(over time.Time) judge.Rules {
	w.mu.Lock()
	defer w.mu.Unlock()
	return judge.Rules{
		Grace: w.times.grace, Down: slices.Clone(w.down),
		Clear: over, Missed: missed * w.times.grace, End: time.Now(),
	}
}
