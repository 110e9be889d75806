package bench

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

func healthComparisons() []comparison {
	quiet := []int{5_000, 20_000}
	return []comparison{
		{name: "observe one renewal of a lease", of: "nodes", sizes: []int{100_000}, ours: renewalOurs},
		{name: "quiet for one monitor period, monitor alone", of: "nodes", sizes: quiet, ours: quietMonitor,
			upstream: quietUpstream},
		{name: "quiet for one monitor period, whole controller", of: "nodes", sizes: quiet, ours: quietController,
			upstream: quietUpstream},
	}
}

func newMonitor(tb testing.TB) *nodehealth.NodeMonitor {
	tb.Helper()
	monitor, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	return monitor
}

// One of many nodes renews its lease. Upstream does nothing at a renewal and
// has nothing to compare; it looks at all nodes and leases at each pass.
func renewalOurs(tb testing.TB, size int) work {
	monitor := newMonitor(tb)
	dispatcher := locked(tb, monitor)
	c := newCluster(size)
	for i := range c.nodes {
		monitor.ObserveNode(epoch, c.nodes[i])
		monitor.ObserveLease(epoch, c.leases[i])
	}
	monitor.MarkSynced()
	// Two versions of each lease, so that each look at one is news.
	now, i := epoch, 0
	var versions [2][]*coordinationv1.Lease
	versions[0] = append(versions[0], c.leases...)
	c.beat()
	c.beat()
	versions[1] = c.leases
	return work{op: func() {
		i++
		lease := versions[i/size%2][i%size]
		now = now.Add(time.Microsecond)
		dispatcher.Update(func() { monitor.ObserveLease(now, lease) })
	}}
}

// core is what the heartbeats of a quiet cluster are given to.
type core interface {
	ObserveNode(now time.Time, node *corev1.Node)
	ObserveLease(now time.Time, lease *coordinationv1.Lease)
	// look is what the Dispatcher does when it is woken.
	look(tb testing.TB, now time.Time)
}

type monitorCore struct{ *nodehealth.NodeMonitor }

func (m monitorCore) look(tb testing.TB, now time.Time) {
	if silent, found := m.Start(now); found {
		tb.Fatalf("%s is not silent", silent.Key)
	}
	m.Next(now)
}

type controllerCore struct {
	*controller.Controller

	jobs timedqueue.Source[timedqueue.Job]
}

func (c controllerCore) ObserveLease(now time.Time, lease *coordinationv1.Lease) {
	c.Controller.ObserveLease(now, lease)
}

func (c controllerCore) look(tb testing.TB, now time.Time) {
	if job, found := c.jobs.Start(now); found {
		tb.Fatalf("nothing had to be done, but %T was", job.Task())
	}
	c.jobs.Next(now)
}

// beats is the heartbeats of one period, spread over it.
type beats struct {
	cluster *cluster
	now     time.Time
	leases  []*coordinationv1.Lease
	nodes   []*corev1.Node
}

func (b *beats) prepare() { b.leases, b.nodes = b.cluster.beat() }

// give gives a period's heartbeats to a core. Each wakes the Dispatcher, which
// looks each time; under load it looks less.
func give(tb testing.TB, b *beats, to core, dispatcher *timedqueue.Dispatcher) {
	step := monitorPeriod / time.Duration(len(b.leases)+len(b.nodes))
	for _, lease := range b.leases {
		b.now = b.now.Add(step)
		dispatcher.Update(func() {
			to.ObserveLease(b.now, lease)
			to.look(tb, b.now)
		})
	}
	for _, node := range b.nodes {
		b.now = b.now.Add(step)
		dispatcher.Update(func() {
			to.ObserveNode(b.now, node)
			to.look(tb, b.now)
		})
	}
}

// settle is how many periods pass before the clock runs: more than a grace
// period, so that all that happens once has happened.
const settle = 12

// The heartbeats of five seconds: half of the nodes renew their lease, one in
// sixty reports its status.
func quietMonitor(tb testing.TB, size int) work {
	monitor := newMonitor(tb)
	dispatcher := locked(tb, monitor)
	b := &beats{cluster: newCluster(size), now: epoch}
	for i := range b.cluster.nodes {
		monitor.ObserveNode(epoch, b.cluster.nodes[i])
		monitor.ObserveLease(epoch, b.cluster.leases[i])
	}
	monitor.MarkSynced()
	w := work{
		prepare: b.prepare,
		op:      func() { give(tb, b, monitorCore{monitor}, dispatcher) },
	}
	for range settle {
		w.prepare()
		w.op()
	}
	return w
}

// The same through the whole controller of examples/nodelifecycle, with the
// re-evaluation of every node that it does once in a period. It covers health,
// zones and taints, as upstream's pass does.
func quietController(tb testing.TB, size int) work {
	whole, err := controller.New(controller.Config{}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	jobs, err := whole.Jobs(controller.Actions{
		ReadLeases: unexpected[controller.LeaseRead, controller.Leases],
		Declare:    unexpected[controller.Declaration, controller.Result[*corev1.Node]],
		ChangeNode: unexpected[controller.NodeChange, controller.Result[*corev1.Node]],
		MarkPod:    unexpected[controller.PodMark, controller.Result[*corev1.Pod]],
		Evict:      unexpected[eviction.Task, eviction.Result],
		Record:     unexpected[controller.Record, struct{}],
	}, epoch)
	if err != nil {
		tb.Fatal(err)
	}
	dispatcher, core := lockedJobs(tb, jobs), controllerCore{whole, jobs}
	b := &beats{cluster: newCluster(size), now: epoch}
	for i := range b.cluster.nodes {
		whole.ObserveNode(epoch, b.cluster.nodes[i])
		whole.ObserveLease(epoch, b.cluster.leases[i])
	}
	whole.MarkSynced(epoch)
	for job, ok := jobs.Start(epoch); ok; job, ok = jobs.Start(epoch) {
		if _, isRecord := job.Task().(controller.Record); !isRecord { // RegisteredNode
			tb.Fatalf("nothing had to be done, but %T was", job.Task())
		}
		job.Finish(epoch)
	}
	w := work{
		prepare: b.prepare,
		op: func() {
			give(tb, b, core, dispatcher)
			dispatcher.Update(func() {
				whole.Reevaluate()
				core.look(tb, b.now)
			})
		},
	}
	for range settle {
		w.prepare()
		w.op()
	}
	return w
}

// Upstream: one health pass of Controller.Run of pkg/controller/nodelifecycle.
// The informers' caches have the period's heartbeats before it begins. There
// are no pods. Its eight workers use every processor; we use one.
func quietUpstream(tb testing.TB, size int) work {
	l := newLifecycle(tb)
	c := newCluster(size)
	add := func(store interface{ Add(any) error }, object any) {
		if err := store.Add(object); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range c.nodes {
		add(l.nodes, c.nodes[i])
		add(l.leases, c.leases[i])
	}
	l.run(tb)
	w := work{
		prepare: func() {
			leases, nodes := c.beat()
			for _, lease := range leases {
				add(l.leases, lease)
			}
			for _, node := range nodes {
				add(l.nodes, node)
			}
		},
		op: func() {
			l.pass()
			if l.seen != size {
				tb.Fatalf("the pass saw %d nodes of %d", l.seen, size)
			}
		},
	}
	for range 3 {
		w.prepare()
		w.op()
	}
	return w
}
