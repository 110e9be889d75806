package detection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A world is a fleet on a control plane, and the subject.
type world struct {
	*sidebyside.Stage
	*fleet.World
	*options
	running *sidebyside.Processes
}

const (
	// lookPeriod is how often a play looks whether all is done, and reportEvery
	// how often it says how far it is.
	lookPeriod  = time.Second
	reportEvery = 10 * time.Second
	// tail is how long a play waits for what must not happen.
	tail = 5 * time.Second
)

// play plays a scenario. Of a play that is not complete the outcome is nil if
// nothing can be said.
func (o *options) play(ctx context.Context, p *sidebyside.Play[scenario]) (of *outcome, err error) {
	w := &world{Stage: p.Stage, options: o}
	var pods []fleet.Pod
	for _, k := range o.kinds() {
		pods = append(pods, fleet.Pod{Name: k.name, Tolerations: k.tolerations()})
	}
	w.World, err = fleet.NewWorld(ctx, fleet.Config{
		REST: sidebyside.Protobuf(p.Plane.RESTConfig()), Zones: o.zones(), Interval: o.beat,
	}, pods...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.End()) }()
	if err := w.untaint(ctx); err != nil {
		return nil, err
	}
	p.Say("%s nodes with %s pods send heartbeats", sidebyside.Thousands(o.nodes), sidebyside.Thousands(o.pods))
	atRest := p.Scenario.dying == nil
	if err := w.launch(ctx, atRest); err != nil {
		return nil, err
	}
	of = &outcome{}
	if atRest {
		informers, err := w.launchBaseline(ctx)
		if err != nil {
			return nil, err
		}
		return of, w.measureRest(ctx, of, informers)
	}
	if err = w.measureRest(ctx, of, nil); err == nil {
		err = w.outage(ctx, p.Scenario.dying(w), of)
	}
	if of.verdict == nil {
		return nil, err
	}
	if wrong := of.verdict.err(); wrong != nil {
		p.Say("%v", wrong)
	} else {
		p.Say("nothing is wrong")
	}
	return of, err
}

// untaint takes away the taint that the API server gives each new node, except
// that of the canary. Otherwise both subjects would spend a minute on that.
func (w *world) untaint(ctx context.Context) error {
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

// baselineArguments are those of the informers alone.
func baselineArguments() []string {
	return []string{"--secure-port=0", "--leader-elect-resource-name=baseline"}
}

// launchBaseline starts the informers alone, and waits until they have filled
// their caches and lead.
func (w *world) launchBaseline(ctx context.Context) (*sidebyside.Processes, error) {
	informers, err := w.LaunchProgram("baseline", w.baseline, baselineArguments()...)
	if err != nil {
		return nil, err
	}
	leases := w.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	return informers, informers.Until(ctx, "the informers alone to lead", func(ctx context.Context) (bool, error) {
		lease, err := leases.Get(ctx, "baseline", metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", err
	})
}

// measureRest measures while nothing happens but heartbeats. It takes more than
// a grace period: after that a subject may act on all that it must.
func (w *world) measureRest(ctx context.Context, o *outcome, informers *sidebyside.Processes) error {
	if err := wait.Pause(ctx, w.settle); err != nil {
		return err
	}
	before, begun := w.BeatsStored(), time.Now()
	for i := range parts + 1 {
		if err := wait.PauseUntil(ctx, begun.Add(w.rest*time.Duration(i)/parts)); err != nil {
			return err
		}
		if err := w.running.Alive(); err != nil {
			return err
		}
		var now reading
		var err error
		if now.subject, err = w.running.CPUTime(); err != nil {
			return err
		}
		if informers != nil {
			if err := informers.Alive(); err != nil {
				return fmt.Errorf("the informers alone: %w", err)
			}
			if now.informers, err = informers.CPUTime(); err != nil {
				return err
			}
		}
		now.at, now.beats = time.Since(begun), w.BeatsStored()-before
		o.rest = append(o.rest, now)
	}
	memory, err := w.running.Last().Memory()
	o.restMemory = memory.Resident
	first, last := o.rest.ends()
	used, _ := share(last.subject-first.subject, last.at)
	w.Say("at rest: %.1f %% of a core", used)
	return err
}

// outage lets nodes die, waits until the subject has done what it must, and
// judges it. What is known by an interruption is judged too.
func (w *world) outage(ctx context.Context, dying [][]string, o *outcome) error {
	used, err := w.running.CPUTime()
	if err != nil {
		return err
	}
	for i, nodes := range dying {
		if i > 0 {
			if err = wait.Pause(ctx, w.gap); err != nil {
				break
			}
		}
		w.Kill(nodes...)
	}
	if err == nil {
		err = w.awaitEnd(ctx, len(slices.Concat(dying...)))
	}
	o.complete = err == nil
	end := time.Now()
	after, cpuErr := w.running.CPUTime()
	o.first = w.FirstDeath()
	o.cpu, o.lasted = after-used, end.Sub(o.first)
	if err == nil {
		err = wait.Pause(ctx, tail)
	}
	collecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, cpuErr, w.collect(collecting, o, end))
}

// awaitEnd waits until the dead are found and their pods evicted, or until that
// has taken far too long: twice the time that a subject needs whose calls are
// limited, and two minutes. It writes each dead node up to six times and each of
// its pods four times, Events included.
func (w *world) awaitEnd(ctx context.Context, dying int) error {
	calls := dying * (6 + 4*w.pods/w.nodes)
	sending := time.Duration(calls) * time.Second / qps
	deadline := time.Now().Add(w.grace + w.patient + 2*sending + 2*time.Minute)
	first, reported := w.FirstDeath(), time.Now()
	for {
		if err := w.running.Alive(); err != nil {
			return err
		}
		nodes, err := w.history(ctx)
		if err != nil {
			return err
		}
		v, err := judge(nodes, w.grace)
		if err != nil {
			return err
		}
		now := time.Now()
		if v.missed+v.left == 0 || now.After(deadline) {
			return nil
		}
		if now.Sub(reported) >= reportEvery {
			reported = now
			w.Say("%.0f s after the first death: %d of %d Unknown, %d tainted, %d of %d pods evicted",
				now.Sub(first).Seconds(), len(v.detected), v.dead, len(v.tainted), len(v.evicted), w.leaving()*v.dead)
		}
		if err := wait.Pause(ctx, lookPeriod); err != nil {
			return err
		}
	}
}

// collect reads what happened from the first death to the end, and judges it.
// Evictions after the end are judged too.
func (w *world) collect(ctx context.Context, o *outcome, end time.Time) error {
	memory, err := w.running.Last().Memory()
	if err != nil {
		return errors.Join(err, w.running.Alive())
	}
	o.memory = memory.Peak
	nodes, err := w.history(ctx)
	if err != nil {
		return err
	}
	calls, err := w.Plane.Requests(ctx, controlplane.Filter{User: sidebyside.User, Since: o.first})
	if err != nil {
		return err
	}
	o.calls = callsUntil(calls, end)
	o.happened = newHappenings(nodes, calls, o.first, end)
	o.verdict, err = judge(nodes, w.grace)
	return err
}

// callsUntil counts calls that were received until a moment, by verb and
// resource.
func callsUntil(requests []controlplane.Request, end time.Time) map[string]int {
	counts := map[string]int{}
	for i := range requests {
		if r := &requests[i]; !r.Received.After(end) {
			counts[r.Verb+" "+cmp.Or(r.FullResource(), "other")]++
		}
	}
	return counts
}

// history is what the fleet, the witness and the audit log say of each node.
func (w *world) history(ctx context.Context) ([]node, error) {
	requests, err := w.Plane.Requests(ctx, controlplane.Filter{
		User: sidebyside.User, Verb: "delete", Resource: "pods", Namespace: fleet.Namespace,
	})
	if err != nil {
		return nil, err
	}
	evicted := map[string]time.Time{} // when the first request that deleted a pod was received
	for i := range requests {
		r := &requests[i]
		if _, known := evicted[r.Name]; !known && r.Code >= 200 && r.Code < 300 {
			evicted[r.Name] = r.Received
		}
	}
	now := time.Now()
	var nodes []node
	for _, name := range w.mixed() {
		n := node{Node: w.Witness.Of(name), name: name, died: w.Died(name)}
		if beats := w.Beats(name); len(beats) > 0 {
			n.lastBeat, n.silence = longestSilence(beats)
			if n.died.IsZero() {
				n.silence = max(n.silence, now.Sub(n.lastBeat))
			}
		}
		for _, k := range w.kinds() {
			k.name = fleet.PodName(k.name, name)
			k.evicted = evicted[k.name]
			n.pods = append(n.pods, k)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// longestSilence returns when the last of some heartbeats was sent, and the
// longest time between two of them.
func longestSilence(beats []fleet.Beat) (last time.Time, silence time.Duration) {
	last = beats[0].Sent
	for _, beat := range beats[1:] {
		silence = max(silence, beat.Acknowledged.Sub(last))
		if beat.Sent.After(last) {
			last = beat.Sent
		}
	}
	return last, silence
}
