package scale

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// Config says which sizes are played.
type Config struct {
	// Least is how many nodes the first cluster has. Each other has twice as many
	// as the one before, and none more than Most. The defaults are 12,500 and
	// 100,000. A cluster has at least three nodes, one a zone.
	Least, Most int
	// Seed is that of the scenarios.
	Seed uint64
	// EvictionRate is node-eviction-rate, nodes a second. The default is that of
	// kube-controller-manager, 0.1, at which a large zone is not tainted in the
	// ten minutes.
	EvictionRate float64
	// Kubelets runs the kubelet of examples/hollownode on each node.
	Kubelets bool
	// Progress is called often while a size is played, with which share of all
	// sizes is done, by their nodes. Nil is none.
	Progress func(nodes int, done float64)
}

// The defaults of Config.
const (
	DefaultLeast = 12_500
	DefaultMost  = 100_000
	// DefaultEvictionRate is that of k8s.io/kubernetes
	// pkg/controller/nodelifecycle/config/v1alpha1/defaults.go at v1.37.1.
	DefaultEvictionRate = 0.1
)

// ErrInvalidConfig is wrapped by each error about a Config.
var ErrInvalidConfig = errors.New("invalid scale config")

// Validate joins all that is wrong with the config.
func (c *Config) Validate() error {
	var least, most error
	if c.Least != 0 && c.Least < zones {
		least = fmt.Errorf("%w: Least is %d nodes, want 0 for %d, or at least %d", ErrInvalidConfig, c.Least, DefaultLeast,
			zones)
	}
	d := c.withDefaults()
	if c.Most < 0 || d.Most < d.Least {
		most = fmt.Errorf("%w: Most is %d nodes, want 0 for %d, or at least Least, which is %d", ErrInvalidConfig, c.Most,
			DefaultMost, d.Least)
	}
	var rate error
	if !(c.EvictionRate >= 0) || math.IsInf(c.EvictionRate, 1) { // also NaN
		rate = fmt.Errorf("%w: EvictionRate is %v, want 0 for %v, or more", ErrInvalidConfig, c.EvictionRate,
			DefaultEvictionRate)
	}
	return errors.Join(least, most, rate)
}

func (c *Config) withDefaults() Config {
	d := *c
	if d.Least == 0 {
		d.Least = DefaultLeast
	}
	if d.Most == 0 {
		d.Most = DefaultMost
	}
	if d.EvictionRate == 0 {
		d.EvictionRate = DefaultEvictionRate
	}
	return d
}

// sizes returns how many nodes each cluster has.
func (c *Config) sizes() []int {
	var sizes []int
	for nodes := c.Least; nodes <= c.Most; nodes *= 2 {
		sizes = append(sizes, nodes)
	}
	return sizes
}

// Play plays all sizes, one after the other. If the context ends, the report
// has the sizes that are complete, and the error is that of the context.
func Play(ctx context.Context, config Config) (*Report, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	sizes, all, done := config.sizes(), 0, 0
	for _, nodes := range sizes {
		all += nodes
	}
	r := &Report{
		Seed: config.Seed, EvictionRate: config.EvictionRate, Kubelets: config.Kubelets, Rows: []Row{}, Of: len(sizes),
	}
	for _, nodes := range sizes {
		tell := func(share float64) {
			if config.Progress != nil {
				config.Progress(nodes, (float64(done)+share*float64(nodes))/float64(all))
			}
		}
		row, err := measure(ctx, nodes, config, tell)
		if err != nil {
			return r, err
		}
		r.add(row)
		done += nodes
	}
	return r, nil
}

// stepsBetweenLooks is after how many events a run looks whether it is to end.
// A look costs as much as some events.
const stepsBetweenLooks = 256

// moments are those at which the live heap is measured.
func moments() []time.Duration {
	const before, after = time.Second, time.Minute
	return []time.Duration{lossAt - before, lossAt + after, lossAt + lostFor - before, lossAt + lostFor + after}
}

// measure plays one size.
func measure(ctx context.Context, nodes int, config Config, tell func(share float64)) (Row, error) {
	m := newMeter()
	s, err := simulation.New(Scenario(nodes, config))
	if err != nil {
		return Row{}, fmt.Errorf("%d nodes: %w", nodes, err)
	}
	world := s.World()
	recorder := report.Watch(s, nil)
	_, pods := world.Count()
	rest := moments()
	for i := 0; s.Step(); i++ {
		if len(rest) > 0 && world.Now() >= rest[0] {
			rest = rest[1:]
			m.measureHeap()
		}
		if i%stepsBetweenLooks == 0 {
			if ctx.Err() != nil {
				return Row{}, ctx.Err()
			}
			tell(float64(world.Now()) / float64(duration))
		}
	}
	summary := &recorder.Document().Summary
	row := m.row()
	row.Nodes, row.Pods = nodes, pods
	came := &summary.Cluster
	row.Declared, row.Tainted, row.Evicted = came.Declared.Nodes, came.Tainted.Nodes, came.Pods.Evicted
	if err := asTold(world, came, nodes, pods); err != nil {
		return Row{}, fmt.Errorf("%d nodes: %w", nodes, err)
	}
	return row, nil
}

// errOtherStory says that a run came out otherwise than the story, so that what
// it costs says nothing.
var errOtherStory = errors.New("the run is not the loss of a third and its return")

// asTold checks that the lost zone was declared and no other node. In the end
// all nodes must be back, and there must be as many pods as before.
func asTold(world *model.World, came *report.Zone, nodes, pods int) error {
	lost := (nodes + zones - 1) / zones
	if came.DeclaredDead.Nodes != lost || came.DeclaredLiving.Nodes != 0 {
		return fmt.Errorf("%w: %d dead nodes and %d living ones were declared, want %d and 0", errOtherStory,
			came.DeclaredDead.Nodes, came.DeclaredLiving.Nodes, lost)
	}
	back := 0
	for _, node := range world.Nodes() {
		if isBack(node) {
			back++
		}
	}
	if _, left := world.Count(); back != nodes || left != pods {
		return fmt.Errorf("%w: in the end %d of %d nodes are ready without a taint, and there are %d of %d pods",
			errOtherStory, back, nodes, left, pods)
	}
	return nil
}

func isBack(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}
