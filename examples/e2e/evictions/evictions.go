// Package evictions measures what goes wrong while pods are evicted because of
// taints: six ways to lose a pod. The subjects are ours
// (examples/tainteviction) and kube-controller-manager's
// taint-eviction-controller.
//
// Nodes and pods are plain objects: nothing runs, and a deleted pod is gone at
// once. Which pod is due when follows from what was put there and when. When it
// left, and by which request, is in the audit log of the API server. The judge
// compares the two. A pod that left without a request cannot be judged.
package evictions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Plays six ways to lose a pod with examples/tainteviction and kube-controller-manager v1.37.1
on a real API server. Counts the pods that are evicted early, late, wrongly or not at all.

  go -C examples/e2e run ./measure evictions                                  all: about six minutes
  go -C examples/e2e run ./measure evictions --scenario patched --subject ours
  go -C examples/e2e run ./measure evictions --ours=--confirm                 more flags for ours
`

const legend = `The last pod was evicted so long after it was due. What was in the way (a refusal, an outage, a budget) is
over before that time counts. Lost: still there a minute later. Wrong: evicted although it must stay, or before its
budget allows it. A pod that its owner deletes before it is due need not be evicted; so numbers of recreated ones
differ. Upstream's controller deletes pods and asks for no budget, as documented: that it counts as wrong there is no
fault of it.
`

// Alone, the taint-eviction-controller of v1.37.1 does not see the pods of a
// node that is tainted ("Index with name spec.nodeName does not exist"). It
// lives on an index that another controller adds to the informer of both. That
// is the node-lifecycle-controller or the daemonset-controller. The latter does
// nothing where there is no DaemonSet.
const upstreamControllers = "taint-eviction-controller,daemonset-controller"

// Run measures evictions as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return measurement().Run(ctx, args, out, diagnostics)
}

func measurement() *sidebyside.Measurement {
	// The limits of requests are so high that no scenario meets them.
	flags := []string{
		"--leader-elect=false", "--secure-port=0", "--v=2",
		"--kube-api-qps=1000", "--kube-api-burst=1000",
	}
	var ours string
	var all []sidebyside.Scenario
	for _, s := range scenarios() {
		all = append(all, sidebyside.Scenario{
			Name: s.name, Title: func() string { return s.heading(ours) },
			Play: func(ctx context.Context, stage *sidebyside.Stage) (*sidebyside.Record, error) {
				return play(ctx, stage, s, ours)
			},
		})
	}
	return &sidebyside.Measurement{
		Name: "evictions", Help: help, Scenarios: all,
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("tainteviction", flags...),
			sidebyside.Upstream(upstreamControllers, flags...),
		},
		Repetitions: 1, Parallel: 2, Longest: 10 * time.Minute, // the longest scenario takes two
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&ours, "ours", "",
				"space-separated `flags` for our program, on top of those of the scenario")
		},
		Legend: func() string { return legend },
	}
}

// A scenario is something that goes wrong while pods are evicted.
type scenario struct {
	// name is what --scenario calls it, title what its table does.
	name, title string
	// ours are flags of our program for it. Upstream's has none that matter here.
	ours []string
	// late is how long after it must and can leave a pod is still in time. It has
	// to allow for two crowded cores, and for the wait before another attempt.
	late time.Duration
	// nodes is how many nodes are tainted, and pods are those on them.
	nodes int
	pods  []group
	// steps taint the nodes and play what goes wrong, until nothing more stands in
	// the way.
	steps []step
}

// A step does one thing to a cluster, and returns when it is done.
type step func(context.Context, *cluster) error

// A group is pods that are alike. Its name is the first part of theirs, and
// their label app.
type group struct {
	name      string
	n         int
	tolerates time.Duration // the taint, for so long; see fleet.Forever
	// guarded says that a budget forbids their eviction until it permits it.
	guarded bool
}

// flags are those of ours, with others besides.
func (s scenario) flags(others string) []string { return slices.Concat(s.ours, strings.Fields(others)) }

// heading has the flags of ours and when a pod is late besides the title.
func (s scenario) heading(others string) string {
	title := s.title
	if flags := s.flags(others); len(flags) > 0 {
		title += " (ours with `" + strings.Join(flags, " ") + "`)"
	}
	return title + fmt.Sprintf("; late after %d s", s.late/time.Second)
}

// scenarios are those of the table. The longest comes first, so that all
// together take less time when several are played at a time.
func scenarios() []scenario {
	const second = time.Second
	return []scenario{
		{
			name: "restart", title: "controller killed and restarted half-way through tolerations of 60 s",
			late: 3 * second, nodes: 4,
			pods:  []group{{name: "web", n: 40, tolerates: 60 * second}},
			steps: []step{taint, pause(30 * second), restart},
		},
		// Some pods are due when it begins, some in the midst of it. The wait before
		// the next attempt grows as long as it is denied.
		{
			name: "denied", title: "an admission policy denies deletions for 20 s",
			late: 30 * second, nodes: 4,
			pods: []group{
				{name: "at-once", n: 20}, {name: "later", n: 20, tolerates: 10 * second},
				{name: "probe", n: 1, tolerates: fleet.Forever},
			},
			steps: []step{deny, taint, pause(20 * second), allow, free},
		},
		// The requests under way get no answer, whether they were carried out or not.
		// To see the first pod leave and to kill takes less than 2 s. It takes more
		// than 5 s until the API server is back.
		{
			name:  "outage",
			title: "kube-apiserver killed while 50 leave, and back after 500 more have come due",
			late:  15 * second, nodes: 20,
			pods: []group{
				{name: "web", n: 500, tolerates: 7 * second}, {name: "first", n: 50, tolerates: 5 * second},
			},
			steps: []step{taint, outage(5 * second), free},
		},
		// Pods are deleted and created again under their names, as a StatefulSet
		// does. It happens while the timers of their tolerations run and when they
		// end.
		{
			name: "recreated", title: "pods deleted and recreated under their names while their timers run",
			late: 3 * second, nodes: 4,
			pods: []group{
				{name: "steady", n: 20, tolerates: 10 * second},
				{name: "waiting", n: 40, tolerates: 10 * second},
				{name: "due", n: 120, tolerates: 10 * second},
			},
			steps: []step{
				taint, recreate("waiting", 4*second, 9500*time.Millisecond),
				recreate("due", 9500*time.Millisecond, 11500*time.Millisecond),
			},
		},
		// Upstream's controller deletes pods and never asks for a budget, which is
		// how it is documented. So here it evicts pods that must not be evicted, and
		// is not at fault.
		{
			name: "budget", title: "a PodDisruptionBudget blocks for 15 s, then allows; another never does",
			ours: []string{"--action=evict"}, late: 30 * second, nodes: 4,
			pods: []group{
				{name: "web", n: 40, guarded: true}, {name: "precious", n: 10, guarded: true},
				{name: "free", n: 10},
			},
			steps: []step{
				forbid("web"), forbid("precious"), taint, pause(15 * second), permit("web"),
			},
		},
		{
			name: "patched", title: "another client patches the same pods all the time",
			ours: []string{"--confirm"}, // where what was confirmed has always changed
			late: 10 * second, nodes: 4,
			pods:  []group{{name: "later", n: 20, tolerates: 5 * second}, {name: "at-once", n: 20}},
			steps: []step{patchMeanwhile},
		},
	}
}

// The names that scenarios use. No other component uses the key of the taint,
// so only the subject acts on it.
const (
	namespace = fleet.Namespace
	taintKey  = "example.com/maintenance"
	calm      = "calm-0" // the node that is never tainted
)

// A cluster is a control plane with nodes and pods as plain objects. It
// remembers what it has put there, and when, since that is what decides which
// pod is due when. Nothing runs: a deleted pod has no grace period and is gone
// at once.
type cluster struct {
	*sidebyside.Stage
	scenario scenario
	running  *sidebyside.Processes   // the subject
	client   coreclient.PodInterface // of the script

	nodes   []string             // those that taint taints
	tainted map[string]time.Time // by node
	groups  map[string][]*pod    // by the name of the group, as they were at first
	free    time.Time            // when the last obstacle was out of the way

	mu   sync.Mutex
	pods []*pod // all that were ever made; read when no step makes any
}

// pod is one that the scenario has put on a node, what should become of it, and
// what has. A pod that is created again under its name is another one.
type pod struct {
	group
	name, node string
	uid        types.UID
	// made is before the request that created it was sent, arrived before the one
	// that bound it to its node. So it may have happened later, and never earlier.
	made, arrived time.Time

	// due is when its toleration ends. Zero: it must not be evicted at all.
	due time.Time
	// allowed is from when on its budget allows its eviction. It may have been
	// possible before that, and then it was wrong. Zero: it has no budget, or one
	// that forbids it.
	allowed time.Time
	// possible is when nothing prevented its eviction any longer: a refusal or an
	// outage was over. Nothing is late before that. Zero: nothing prevented it.
	possible time.Time

	// left is when the request that made it leave was received, and by the user
	// that sent it. Zero: it is still there.
	left time.Time
	by   string
}

// play sets the scene, plays the scenario until nothing stands in the way of
// evictions any more, waits for its end, and counts.
func play(
	ctx context.Context, stage *sidebyside.Stage, s scenario, ours string,
) (*sidebyside.Record, error) {
	c := &cluster{
		Stage: stage, scenario: s, client: stage.Client.CoreV1().Pods(namespace),
		tainted: map[string]time.Time{}, groups: map[string][]*pod{},
	}
	var args []string
	if c.Subject.Name == sidebyside.Ours {
		args = s.flags(ours)
	}
	var err error
	if c.running, err = c.Launch(c.Subject.Name, args...); err != nil {
		return nil, err
	}
	tail := pause(3 * time.Second) // for those that leave without having to
	if err := awaitCanary(ctx, c); err != nil {
		return nil, err
	}
	c.Say("the subject evicts")
	for _, step := range slices.Concat([]step{addAll}, s.steps, []step{awaitEnd, tail}) {
		if err := step(ctx, c); err != nil {
			return nil, err
		}
	}
	counts, err := c.judge(ctx)
	if err != nil {
		return nil, err
	}
	record := counts.record()
	c.Say("%s", record)
	return record, nil
}

// awaitCanary waits until the subject evicts a pod that must leave at once.
// That is the one sign of being ready that means the same for every subject. It
// has to see the pod, and then the taint of its node.
func awaitCanary(ctx context.Context, c *cluster) error {
	const canary = "canary"
	return sidebyside.InOrder(
		func(ctx context.Context) error { return c.addNode(ctx, canary) },
		func(ctx context.Context) error { return c.addPods(ctx, group{name: canary, n: 1}, canary) },
		func(ctx context.Context) error { return c.taint(ctx, canary) },
		func(ctx context.Context) error {
			c.pods = nil // it is not judged
			return c.running.Until(ctx, "the subject to evict a canary", func(ctx context.Context) error {
				list, err := c.client.List(ctx, metav1.ListOptions{})
				if err == nil && len(list.Items) > 0 {
					err = errors.New("it is there")
				}
				return err
			})
		},
	)(ctx)
}

// addAll adds the nodes and pods of the scenario, and bystanders: pods that
// must not be evicted whatever happens. Some tolerate the taint for ever. Some
// have no toleration and are on a node that is not tainted.
func addAll(ctx context.Context, c *cluster) error {
	for i := range c.scenario.nodes {
		c.nodes = append(c.nodes, fmt.Sprintf("tainted-%d", i))
	}
	for _, node := range slices.Concat(c.nodes, []string{calm}) {
		if err := c.addNode(ctx, node); err != nil {
			return err
		}
	}
	tolerant := group{name: "tolerant", n: 2 * len(c.nodes), tolerates: fleet.Forever}
	for _, g := range slices.Concat(c.scenario.pods, []group{tolerant}) {
		if err := c.addPods(ctx, g, c.nodes...); err != nil {
			return err
		}
	}
	return c.addPods(ctx, group{name: "elsewhere", n: 5}, calm)
}

func (c *cluster) addNode(ctx context.Context, name string) error {
	return fleet.Register(ctx, c.Client, fleet.Node(fleet.Name, "any", name))
}

// taint adds a NoExecute taint to nodes, as controllers do: with the time.
func (c *cluster) taint(ctx context.Context, nodes ...string) error {
	for _, name := range nodes {
		now := time.Now()
		c.tainted[name] = now
		taint := corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(now))}
		if err := fleet.Taint(ctx, c.Client, []string{name}, taint); err != nil {
			return err
		}
	}
	return nil
}

// addPods spreads the pods of a group over nodes.
func (c *cluster) addPods(ctx context.Context, g group, nodes ...string) error {
	pods := make([]*pod, g.n)
	c.groups[g.name] = pods
	return sidebyside.Each(ctx, g.n, func(ctx context.Context, i int) (err error) {
		pods[i], err = c.addPod(ctx, g, fmt.Sprintf("%s-%d", g.name, i), nodes[i%len(nodes)])
		return err
	})
}

// addPod creates a pod, binds it as a scheduler does, and reports it ready as a
// kubelet does.
func (c *cluster) addPod(ctx context.Context, g group, name, node string) (*pod, error) {
	p := &pod{group: g, name: name, node: node, made: time.Now()}
	created, err := c.client.Create(ctx, newPod(name, g), metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create pod %s: %w", name, err)
	}
	p.uid, p.arrived = created.UID, time.Now()
	c.mu.Lock()
	c.pods = append(c.pods, p) // before it is bound: from then on it can be evicted
	c.mu.Unlock()
	if err := fleet.Bind(ctx, c.Client, created, node); err != nil {
		return nil, err
	}
	ready := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Running",`+
		`"conditions":[{"type":"Ready","status":"True"}]}}`, created.UID)
	_, err = c.client.Patch(ctx, name, types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("report pod %s ready: %w", name, err)
	}
	return p, nil
}

// newPod returns a pod of a group, without a grace period.
func newPod(name string, g group) *corev1.Pod {
	p := fleet.NewPod(name, g.name)
	p.Spec.TerminationGracePeriodSeconds = new(int64(0))
	if g.tolerates != 0 {
		p.Spec.Tolerations = fleet.Tolerate(fleet.Seconds(g.tolerates), taintKey)
	}
	return p
}
