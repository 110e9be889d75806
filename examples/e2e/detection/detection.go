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
// The fleet knows which node died when. A watch shows when a node became Unknown
// and tainted. The audit log of the API server has the heartbeats that were
// stored, evictions and calls. The comment of judge has the criterion.
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
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Compares examples/nodelifecycle with kube-controller-manager v1.37.1 on a real API server:
delays of detection, taints and evictions, wrong evictions, API calls, CPU time and memory.

  go -C examples/e2e run ./measure detection                                    cut and zones: about three hours
  go -C examples/e2e run ./measure detection --scenario cut --repetitions 1     a quarter of an hour
  go -C examples/e2e run ./measure detection --nodes 100 --pods 1000 --cut 10   a small cluster
  go -C examples/e2e run ./measure detection --subject ours                     one side
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

func (o *options) measurement() *sidebyside.Measurement {
	return &sidebyside.Measurement{
		Name: "detection", Help: help, Scenarios: o.scenarios(),
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("nodelifecycle"),
			sidebyside.Upstream("node-lifecycle-controller,taint-eviction-controller"),
		},
		Helpers: []sidebyside.Subject{baseline()}, Repetitions: 3, Longest: 3 * time.Hour,
		Flags: o.addFlags, Check: o.check, Legend: o.legend,
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

func (o *options) check(*sidebyside.Choice) error {
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
	s := sidebyside.OurProgram("e2e/detection/baseline")
	s.Args = []string{"--secure-port=0", "--leader-elect-resource-name=" + s.Name}
	return s
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

// dying are the nodes that die in a scenario, in groups that are a gap apart. Nil:
// none dies, and the informers alone run beside the subject. It takes many nodes
// and some minutes until their costs differ by more than the ticks of the clock,
// so that is played only when it is named.
type dying func(*world) [][]string

func (o *options) scenario(name string, title func() string, d dying) sidebyside.Scenario {
	return sidebyside.Scenario{
		Name: name, Title: title, Named: d == nil,
		Play: func(ctx context.Context, stage *sidebyside.Stage) (*sidebyside.Record, error) {
			return o.play(ctx, stage, d)
		},
	}
}

func (o *options) scenarios() []sidebyside.Scenario {
	number := sidebyside.Thousands
	return []sidebyside.Scenario{
		o.scenario("cut",
			func() string { return fmt.Sprintf("%s of %s nodes die at once", number(o.cut), number(o.nodes)) },
			func(w *world) [][]string { return [][]string{w.AllNodes()[:o.cut]} }),
		o.scenario("zones",
			func() string {
				return fmt.Sprintf("%d zones of %s of %s nodes die, %.0f s apart",
					len(losing), number(o.zones()[losing[0]]), number(o.nodes), o.gap.Seconds())
			},
			func(w *world) (zones [][]string) {
				for _, zone := range losing {
					zones = append(zones, w.Nodes(zone))
				}
				return zones
			}),
		o.scenario("rest", func() string { return number(o.nodes) + " nodes at rest" }, nil),
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
		pod{name: "tolerant", tolerates: fleet.Forever}
	pattern := []pod{soon, patient, tolerant, soon, soon, soon, soon, patient, tolerant, soon}
	var kinds []pod
	for i := range o.pods / o.nodes {
		k := pattern[i%len(pattern)]
		k.name = fmt.Sprint(k.name, i)
		kinds = append(kinds, k)
	}
	return kinds
}

// leaving is how many pods of a dead node must leave.
func (o *options) leaving() (n int) {
	for _, k := range o.kinds() {
		if k.tolerates != fleet.Forever {
			n++
		}
	}
	return n
}
