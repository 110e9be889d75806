package blindness

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

const (
	// beat is how far apart the heartbeats of a node are.
	beat = 5 * time.Second
	// grace is how long a node may be silent.
	grace = 20 * time.Second
	// pod is the kind of pod that every node has one of: it leaves with the taint.
	pod = "web"
)

// A world is a fleet of nodes that beat, the subject, and what stands between
// it and the API server.
type world struct {
	*sidebyside.Stage
	*fleet.World
	running *sidebyside.Processes // the first leads from the start
	proxy   *proxy                // nil when the subject has a direct connection
	down    []judge.Span
}

// newWorld returns a world in which every node reports and has its pod. The
// caller calls end.
func newWorld(ctx context.Context, p *sidebyside.Play[scenario]) (*world, error) {
	w := &world{Stage: p.Stage}
	var err error
	w.World, err = fleet.NewWorld(ctx, fleet.Config{
		REST: sidebyside.Protobuf(p.Plane.RESTConfig()), Zones: p.Scenario.zones, Interval: beat,
	}, fleet.Pod{Name: pod, Tolerations: fleet.Tolerate(new(int64(0)))})
	return w, err
}

// end ends the subject, and then the proxy, the fleet and the witness.
func (w *world) end() error {
	if w.running != nil {
		w.running.Stop()
	}
	if w.proxy != nil {
		w.proxy.stop()
	}
	return w.End()
}

// resume lets the paused leader run on. One that has lost its lease ends.
func (w *world) resume(replicas int) error {
	if replicas > 1 {
		w.running.Dismiss(w.running.First())
	}
	return w.running.First().Resume()
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

// killDoomed cuts the doomed off for good.
func (w *world) killDoomed() { w.Kill(doomed(w.AllNodes())...) }

// outage kills the API server, calls during, and starts it again a time after
// it was killed.
func (w *world) outage(ctx context.Context, length time.Duration, during func() error) error {
	from := time.Now()
	if err := w.Plane.KillAPIServer(); err != nil {
		return err
	}
	gone := time.Now()
	if err := during(); err != nil {
		return err
	}
	if err := wait.PauseUntil(ctx, from.Add(length)); err != nil {
		return err
	}
	if err := w.Plane.RestartAPIServer(ctx); err != nil {
		return err
	}
	w.down = append(w.down, judge.Span{From: from, Until: w.firstBeat(gone, time.Now())})
	return nil
}

// firstBeat is when the first beat was acknowledged that was sent after a time,
// or latest. An API server stores beats before it says that it is ready.
func (w *world) firstBeat(after, latest time.Time) time.Time {
	for _, name := range w.AllNodes() {
		latest = earliest(w.Beats(name), after, latest)
	}
	return latest
}

// earliest is when the first of some beats was acknowledged that was sent after
// a time, or latest.
func earliest(beats []fleet.Beat, after, latest time.Time) time.Time {
	for _, beat := range beats {
		if beat.Sent.After(after) && beat.Acknowledged.Before(latest) {
			latest = beat.Acknowledged
		}
	}
	return latest
}

// awaitEnd waits until the dead are Unknown or given up, and long enough for
// late declarations of the living.
func (w *world) awaitEnd(ctx context.Context, over time.Time) error {
	if err := wait.PauseUntil(ctx, over.Add(2*grace)); err != nil {
		return err
	}
	for w.Witness.All(doomed(w.AllNodes()), (*witness.Node).WantUnknown) != nil {
		if time.Since(over) > given*grace {
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
	writes, err := w.received(ctx, controlplane.Filter{User: sidebyside.User, Resource: "nodes/status"})
	if err != nil {
		return nil, err
	}
	deletion := controlplane.Filter{User: sidebyside.User, Resource: "pods", Verb: "delete"}
	deletions, err := w.received(ctx, deletion)
	if err != nil {
		return nil, err
	}
	var nodes []judge.Node
	for _, name := range w.AllNodes() {
		seen := w.Witness.Of(name)
		var beats []judge.Beat
		for _, stored := range w.Beats(name) {
			beats = append(beats, judge.Beat{Sent: stored.Sent, Acknowledged: stored.Acknowledged})
		}
		nodes = append(nodes, judge.Node{
			Name: name, Beats: beats, Died: w.Died(name),
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
	requests, err := w.Plane.Requests(ctx, filter)
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
	return judge.Rules{
		Grace: grace, Down: w.down,
		Clear: over, Missed: missed * grace, End: time.Now(),
	}
}
