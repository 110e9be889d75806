package detection

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// play lets nodes be at rest, and then die.
func (o *options) play(ctx context.Context, stage *sidebyside.Stage, dying dying) (_ *sidebyside.Record, err error) {
	w := &world{Stage: stage, options: o}
	var pods []fleet.Pod
	for _, k := range o.kinds() {
		pods = append(pods, fleet.Pod{Name: k.name, Tolerations: fleet.Tolerate(fleet.Seconds(k.tolerates))})
	}
	if w.World, err = fleet.NewWorld(ctx, stage, o.zones(), o.beat, pods...); err != nil {
		return nil, err
	}
	// A taint of each would take both subjects a minute.
	others := slices.DeleteFunc(w.AllNodes(), func(name string) bool { return name == w.canary() })
	if err := fleet.Taint(ctx, w.Client, others); err != nil {
		return nil, err
	}
	w.Say("%s nodes with %s pods send heartbeats", sidebyside.Thousands(o.nodes), sidebyside.Thousands(o.pods))
	record, atRest := &sidebyside.Record{}, &sidebyside.Record{}
	if dying == nil {
		return record, w.restBesideInformers(ctx, record)
	}
	return record, sidebyside.InOrder(
		func(ctx context.Context) error { return w.launch(ctx, false) },
		func(ctx context.Context) error { return w.measureRest(ctx, atRest) },
		func(ctx context.Context) error { return w.measureOutage(ctx, record, atRest, dying(w)) },
	)(ctx)
}

// canary is the node whose taint shows that the subject works. It never dies.
func (w *world) canary() string {
	nodes := w.Nodes(lasting)
	return nodes[len(nodes)-1]
}

// launch starts the subject, and waits until it works.
func (w *world) launch(ctx context.Context, elect bool) (err error) {
	if w.running, err = w.Launch(w.Subject.Name, w.args(w.Subject, elect)...); err != nil {
		return err
	}
	return w.running.Until(ctx, "the subject to take a taint away", func(context.Context) error {
		return w.Witness.All([]string{w.canary()}, (*witness.Node).WantUntainted)
	})
}

// restBesideInformers measures the subject and the informers alone at rest. Both
// have filled their caches and lead.
func (w *world) restBesideInformers(ctx context.Context, record *sidebyside.Record) error {
	if err := w.launch(ctx, true); err != nil {
		return err
	}
	informers, err := w.Launch("baseline")
	if err != nil {
		return err
	}
	leases := w.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	if err := informers.Until(ctx, "the informers alone to lead", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, "baseline", metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			err = errors.New("the lease has no holder")
		}
		return err
	}); err != nil {
		return err
	}
	return w.measureRest(ctx, record, informers)
}

// measureRest measures the subject, and the informers alone if they run, while
// nothing happens but heartbeats. It takes more than a grace period: after that
// a subject may act on all that it must.
func (w *world) measureRest(ctx context.Context, record *sidebyside.Record, informers ...*sidebyside.Processes) error {
	if err := wait.Pause(ctx, w.settle); err != nil {
		return err
	}
	begun, programs := time.Now(), append([]*sidebyside.Processes{w.running}, informers...)
	costs, err := sidebyside.CostsOf(ctx, func() error { return wait.Pause(ctx, w.rest) }, programs...)
	if err != nil {
		return err
	}
	stored, err := fleet.BeatsOf(ctx, w.Plane, begun)
	if err != nil {
		return err
	}
	beats := 0
	for _, one := range stored {
		beats += len(one)
	}
	memory, err := w.running.Last().Memory()
	w.Say("at rest: %.1f %% of a core", costs[0].Share())
	w.addRest(record, memory.Resident, beats, costs...)
	return err
}

// addRest adds what the subject costs at rest, and what the informers alone do if
// they ran beside it.
func (o *options) addRest(record *sidebyside.Record, resident int64, beats int, costs ...sidebyside.Costs) {
	record.Add("CPU at rest, of a core", sidebyside.Percent, costs[0].Share())
	record.Add("resident memory at rest", sidebyside.MiB, float64(resident))
	record.Add("heartbeats stored a second, at rest", sidebyside.Format("%.0f"),
		float64(beats)/costs[0].Took.Seconds())
	if len(costs) > 1 {
		record.Add("CPU of the same informers alone, beside it", sidebyside.Percent, costs[1].Share())
		record.Add("its CPU time to theirs", sidebyside.Format("%.3f"),
			float64(costs[0].CPU)/float64(costs[1].CPU)).AtMost(o.most)
	}
}

const (
	// lookPeriod is how often a play looks whether all is done, and reportEvery
	// how often it says how far it is.
	lookPeriod  = time.Second
	reportEvery = 10 * time.Second
	// tail is how long a play waits for what must not happen.
	tail = 5 * time.Second
)

// measureOutage lets nodes die, waits until the subject has done what it must,
// and judges it.
func (w *world) measureOutage(
	ctx context.Context, record, atRest *sidebyside.Record, dying [][]string,
) (err error) {
	costs, err := w.running.Costs(ctx, func() error {
		for i, nodes := range dying {
			if i > 0 {
				if err := wait.Pause(ctx, w.gap); err != nil {
					return err
				}
			}
			w.Kill(nodes...)
		}
		return w.awaitEnd(ctx, len(slices.Concat(dying...)))
	})
	if err = errors.Join(err, wait.Pause(ctx, tail)); err != nil {
		return err
	}
	memory, err := w.running.Last().Memory()
	if err != nil {
		return err
	}
	v, err := w.judge(ctx)
	if err != nil {
		return err
	}
	v.addTo(record)
	record.Include(atRest)
	record.Add("CPU time in the outage", sidebyside.Format("%.2f s"), costs.CPU.Seconds())
	record.Add("the outage lasts", sidebyside.Seconds, costs.Took.Seconds())
	record.Add("most resident memory", sidebyside.MiB, float64(memory.Peak))
	record.Add("API calls in the outage", sidebyside.Count, float64(len(costs.Calls)))
	record.AddCalls("API calls", costs.Calls)
	return nil
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
		if err := w.Alive(); err != nil {
			return err
		}
		v, err := w.judge(ctx)
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

// judge judges what the fleet, the witness and the audit log say of each node.
func (w *world) judge(ctx context.Context) (*verdict, error) {
	var names []string
	for _, k := range w.kinds() {
		names = append(names, k.name)
	}
	lives, err := w.Lives(ctx, names...)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var nodes []node
	for _, life := range lives {
		n := node{Life: life}
		n.lastBeat, n.silence = longestSilence(life.Beats)
		if life.Died.IsZero() && len(life.Beats) > 0 {
			n.silence = max(n.silence, now.Sub(n.lastBeat))
		}
		for _, k := range w.kinds() {
			if at := life.Deleted[k.name]; len(at) > 0 {
				k.evicted = at[0]
			}
			k.name = fleet.PodName(k.name, life.Name)
			n.pods = append(n.pods, k)
		}
		nodes = append(nodes, n)
	}
	return judge(nodes, w.grace)
}

// longestSilence returns when the last of some heartbeats was received, and the
// longest time between two of them.
func longestSilence(beats []fleet.Beat) (last time.Time, silence time.Duration) {
	for i, beat := range beats {
		if i > 0 {
			silence = max(silence, beat.Answered.Sub(last))
		}
		last = beat.Received
	}
	return last, silence
}
