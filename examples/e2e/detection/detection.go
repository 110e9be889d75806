// Package detection measures two programs that handle silent nodes, side by
// side. They are ours (examples/nodelifecycle, which evicts as well), and
// kube-controller-manager with the controllers node-lifecycle and
// taint-eviction.
//
// Some of many nodes die at once, or zones die one after another. It measures
// how long detection, taints and evictions take, what is evicted wrongly, API
// calls, and CPU time and memory, also while nothing happens but heartbeats. In
// the scenario rest no node dies. There a program with the same informers,
// transforms, encoding, compression and leader election, and nothing else, runs
// beside the subject on the same API server. So both bear the same load, of the
// machine as well.
//
// It is a fault when ours evicted a pod wrongly, declared a living node, missed
// a dead one, left a pod, or costs at rest more than 1.15 times as much as the
// informers.
//
// # How it judges
//
// The fleet knows which node died when, and which heartbeats were stored. A
// watch shows when a node became Unknown and tainted. The audit log of the API
// server has evictions and calls. The comment of judge has the criterion.
//
// # How fair it is
//
// Both get the same nodes, pods and flags, those of kube-controller-manager's
// defaults except the rate of NoExecute taints. That is 10 nodes a second in
// both, or the default of one node in ten seconds would hide all else. The
// limit of 20 API calls a second is one for all of ours except Events, which
// have as many. In kube-controller-manager each of the two controllers may send
// as many, Events included.
//
// Nodes are those of package fleet: hollow nodes, which run in the process of
// the command. Their CPU time counts for neither subject.
package detection

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

const help = `Compares examples/nodelifecycle with kube-controller-manager v1.37.1 on a real API server:
delays of detection, taints and evictions, wrong evictions, API calls, CPU time and memory.

  go -C examples/e2e run ./measure detection                                    cut and zones: about three hours
  go -C examples/e2e run ./measure detection --scenario cut --repetitions 1     a quarter of an hour
  go -C examples/e2e run ./measure detection --nodes 100 --pods 1000 --cut 10   a small cluster
  go -C examples/e2e run ./measure detection --subject ours --html ours.html    one side, as a page
  go -C examples/e2e run ./measure detection --scenario rest --nodes 5000 --pods 5000 --settle 1m --rest 5m

Scenarios:
  cut    --cut nodes die at once, some of each zone
  zones  three zones of three tenths of the nodes die one after another, a minute apart
  rest   no node dies, and the same informers alone run beside the subject; only if it is named
`

// Run measures detection as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return newOptions().measurement().Run(ctx, args, out, diagnostics)
}

// options are the flags, and the periods of a play, which tests shorten.
type options struct {
	nodes, pods, cut int
	// most is the ratio of CPU time at rest to that of the informers alone that
	// ours may have.
	most float64
	// beat is how far apart the heartbeats of a node are, and grace how long it
	// may be silent. Subjects look at nodes every period.
	beat, grace, period time.Duration
	// patient is for how long some of the pods tolerate a silent node.
	patient time.Duration
	// gap is how far apart the losses of two zones are.
	gap time.Duration
	// settle is how long a subject may finish what it does at its start, and rest
	// how long its CPU time is measured after that.
	settle, rest time.Duration
}

// newOptions has the defaults of kubelets and kube-controller-manager.
func newOptions() *options {
	return &options{
		most: 1.15,
		beat: 10 * time.Second, grace: 50 * time.Second, period: 5 * time.Second,
		patient: time.Minute, gap: time.Minute, settle: 25 * time.Second, rest: time.Minute,
	}
}

func (o *options) measurement() *sidebyside.Measurement[scenario] {
	return &sidebyside.Measurement[scenario]{
		Name: "detection", Help: help, Scenarios: o.scenarios(),
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("nodelifecycle"),
			sidebyside.Upstream("node-lifecycle-controller,taint-eviction-controller"),
		},
		Helpers: []sidebyside.Subject{baseline()}, Repetitions: 3, Longest: 3 * time.Hour,
		Flags: o.addFlags, Check: o.check, Play: o.play, Disturbed: errSilent, Legend: o.legend,
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.nodes, "nodes", 1000, "how `many` nodes there are")
	flags.IntVar(&o.pods, "pods", 10_000, "how `many` pods there are, a multiple of the nodes")
	flags.IntVar(&o.cut, "cut", 100, "how `many` nodes die in the scenario cut, at most a fifth")
	flags.DurationVar(&o.beat, "beat", o.beat, "how far apart the heartbeats of a node are")
	flags.DurationVar(&o.settle, "settle", o.settle, "how long to wait before the measurement at rest")
	flags.DurationVar(&o.rest, "rest", o.rest, "how long to measure before nodes die")
}

// fewestNodes give each of the three zones that die a node, and one lives.
const fewestNodes = 10

func (o *options) check(*sidebyside.Choice[scenario]) error {
	switch {
	case o.nodes < fewestNodes:
		return fmt.Errorf("--nodes is %d, want at least %d", o.nodes, fewestNodes)
	case o.pods < o.nodes || o.pods%o.nodes != 0 || o.pods > o.nodes*mostPods:
		return fmt.Errorf("--pods is %d, want a multiple of --nodes, %d, and at most %d for each",
			o.pods, o.nodes, mostPods)
	case o.cut < 1 || o.cut > o.nodes/5:
		return fmt.Errorf("--cut is %d, want 1 to %d, a fifth of the nodes", o.cut, o.nodes/5)
	case o.beat <= 0 || o.beat > o.grace/5:
		return fmt.Errorf("--beat is %v, want more than 0s and at most %v", o.beat, o.grace/5)
	case o.settle < 0 || o.settle+o.rest < o.grace*5/4:
		return fmt.Errorf("--settle is %v and --rest is %v, want at least 0s, and %v together",
			o.settle, o.rest, o.grace*5/4)
	}
	return nil
}

// baseline is the informers alone.
func baseline() sidebyside.Subject {
	const program = "github.com/kubelife/lifecycle/examples/e2e/detection/baseline"
	return sidebyside.Subject{
		Name: "baseline", Args: []string{"--secure-port=0", "--leader-elect-resource-name=baseline"},
		Build: func(ctx context.Context, dir string, _ io.Writer) (p sidebyside.Program, err error) {
			p.Path = filepath.Join(dir, "baseline")
			_, err = controlplane.Go(ctx, "", "build", "-o", p.Path, program)
			return p, err
		},
	}
}

// qps is how many API calls a second a client may send.
const qps = 20

// args are the arguments of a subject. The limits of calls are the defaults,
// and so are the periods of newOptions.
func (o *options) args(subject sidebyside.Subject, elect bool) []string {
	args := []string{
		fmt.Sprintf("--kube-api-qps=%d", qps), "--kube-api-burst=30", "--node-eviction-rate=10",
		"--node-monitor-grace-period=" + o.grace.String(), "--node-monitor-period=" + o.period.String(),
		fmt.Sprintf("--leader-elect=%t", elect), "--secure-port=0",
	}
	if subject.Name == sidebyside.Ours { // kube-controller-manager has no such flag
		args = append(args, "--node-heartbeat-interval="+o.beat.String())
	}
	return args
}

func (o *options) legend() string {
	return fmt.Sprintf(`Delays are from the death of a node, those of evictions without the time that the pod tolerates. Several
repetitions: the median, and in parentheses the least and the most. CPU time and API calls in the outage: from the
first death until the last pod that must leave has been evicted. There are %s nodes with %s pods, and a client
may send %d API calls a second.
`, sidebyside.Thousands(o.nodes), sidebyside.Thousands(o.pods), qps)
}

// A scenario says which nodes die.
type scenario struct {
	// name is what --scenario calls it.
	name string
	// title is the corner of its table. It depends on flags that are read later.
	title func() string
	// dying are the nodes that die, in groups that are a gap apart. Nil: none
	// dies, and the informers alone run beside the subject. It takes many nodes and
	// some minutes until their costs differ by more than the ticks of the clock, so
	// that is played only when it is named.
	dying func(*world) [][]string
}

// Heading is that of its table.
func (s scenario) Heading() sidebyside.Heading {
	return sidebyside.Heading{Name: s.name, Title: s.title(), Named: s.dying == nil}
}

func (o *options) scenarios() []scenario {
	number := sidebyside.Thousands
	return []scenario{
		{
			name:  "cut",
			title: func() string { return fmt.Sprintf("%s of %s nodes die at once", number(o.cut), number(o.nodes)) },
			dying: func(w *world) [][]string { return [][]string{w.mixed()[:o.cut]} },
		},
		{
			name: "zones",
			title: func() string {
				return fmt.Sprintf("%d zones of %s of %s nodes die, %.0f s apart",
					len(losing), number(o.zones()[losing[0]]), number(o.nodes), o.gap.Seconds())
			},
			dying: func(w *world) [][]string {
				var zones [][]string
				for _, zone := range losing {
					zones = append(zones, w.Nodes(zone))
				}
				return zones
			},
		},
		{name: "rest", title: func() string { return number(o.nodes) + " nodes at rest" }},
	}
}

// losing are the zones that die in the scenario zones, in order. The zone of
// the other nodes lives.
var losing = []string{"a", "b", "c"}

const lasting = "d"

// zones returns the number of nodes of each zone.
func (o *options) zones() map[string]int {
	zones := map[string]int{lasting: o.nodes - len(losing)*(o.nodes*3/10)}
	for _, zone := range losing {
		zones[zone] = o.nodes * 3 / 10
	}
	return zones
}

// mostPods is the kubelet's default of --max-pods.
const mostPods = 110

// kinds returns the pods of each node. Of ten, six leave at once, two tolerate
// a silent node for a while and two for ever. Three have one of each.
func (o *options) kinds() []pod {
	soon, patient, tolerant := pod{name: "soon"}, pod{name: "patient", tolerates: o.patient},
		pod{name: "tolerant", tolerates: forever}
	pattern := []pod{soon, patient, tolerant, soon, soon, soon, soon, patient, tolerant, soon}
	var kinds []pod
	for i := range o.pods / o.nodes {
		k := pattern[i%len(pattern)]
		k.name = fmt.Sprint(k.name, i)
		kinds = append(kinds, k)
	}
	return kinds
}

// tolerations returns those that the pod has.
func (p *pod) tolerations() []corev1.Toleration {
	if p.tolerates == forever {
		return fleet.Tolerate(nil)
	}
	return fleet.Tolerate(new(int64(p.tolerates / time.Second)))
}

// leaving is how many pods of a dead node must leave.
func (o *options) leaving() (n int) {
	for _, k := range o.kinds() {
		if k.tolerates != forever {
			n++
		}
	}
	return n
}

// A world is a fleet on a control plane, and the subject.
type world struct {
	*sidebyside.Stage
	*fleet.World
	*options
	running *sidebyside.Processes
}

// play lets nodes be at rest, and then die.
func (o *options) play(ctx context.Context, p *sidebyside.Play[scenario]) (record *sidebyside.Record, err error) {
	w := &world{Stage: p.Stage, options: o}
	var pods []fleet.Pod
	for _, k := range o.kinds() {
		pods = append(pods, fleet.Pod{Name: k.name, Tolerations: k.tolerations()})
	}
	if w.World, err = fleet.NewWorld(ctx, p.Stage, o.zones(), o.beat, pods...); err != nil {
		return nil, err
	}
	if err := w.untaint(ctx); err != nil {
		return nil, err
	}
	p.Say("%s nodes with %s pods send heartbeats", sidebyside.Thousands(o.nodes), sidebyside.Thousands(o.pods))
	record = &sidebyside.Record{}
	if p.Scenario.dying == nil {
		return record, w.restBesideInformers(ctx, record)
	}
	if err := w.launch(ctx, false); err != nil {
		return nil, err
	}
	atRest := &sidebyside.Record{}
	if err := w.measureRest(ctx, atRest); err != nil {
		return nil, err
	}
	return record, w.measureOutage(ctx, record, atRest, p.Scenario.dying(w))
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
	before, programs := w.BeatsStored(), append([]*sidebyside.Processes{w.running}, informers...)
	costs, err := sidebyside.CostsOf(ctx, func() error { return wait.Pause(ctx, w.rest) }, programs...)
	if err != nil {
		return err
	}
	beats := float64(w.BeatsStored()-before) / costs[0].Took.Seconds()
	for _, p := range programs {
		if err := p.Alive(); err != nil {
			return err
		}
	}
	memory, err := w.running.Last().Memory()
	w.Say("at rest: %.1f %% of a core", costs[0].Share())
	record.Add("CPU at rest, of a core", sidebyside.Percent, costs[0].Share()).Main()
	record.Add("resident memory at rest", sidebyside.MiB, float64(memory.Resident)).Main()
	record.Add("heartbeats stored a second, at rest", sidebyside.Format("%.0f"), beats).Main()
	if len(informers) > 0 {
		record.Add("CPU of the same informers alone, beside it", sidebyside.Percent, costs[1].Share()).Main()
		record.Add("its CPU time to theirs", sidebyside.Format("%.3f"),
			float64(costs[0].CPU)/float64(costs[1].CPU)).AtMost(w.most)
	}
	return err
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
	if err != nil {
		return err
	}
	if err := wait.Pause(ctx, tail); err != nil {
		return err
	}
	if err := w.running.Alive(); err != nil {
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
	record.Add("CPU time in the outage", sidebyside.Format("%.2f s"), costs.CPU.Seconds()).Main()
	record.Add("the outage lasts", sidebyside.Seconds, costs.Took.Seconds()).Main()
	record.Add("most resident memory", sidebyside.MiB, float64(memory.Peak)).Main()
	record.Add("API calls in the outage", sidebyside.Count, float64(len(costs.Calls))).Main()
	record.Calls = controlplane.CountBy(costs.Calls, func(r controlplane.Request) string {
		return r.Verb + " " + r.FullResource()
	})
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
		if err := w.running.Alive(); err != nil {
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
	requests, err := w.Plane.Requests(ctx, controlplane.Filter{
		User: sidebyside.User, Verb: "delete", Resource: "pods", Namespace: fleet.Namespace,
	})
	if err != nil {
		return nil, err
	}
	evicted := map[string]time.Time{} // when the first request that deleted a pod was received
	for _, r := range slices.Backward(requests) {
		if r.Succeeded() {
			evicted[r.Name] = r.Received
		}
	}
	now := time.Now()
	var nodes []node
	for _, name := range w.AllNodes() {
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
	return judge(nodes, w.grace)
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
