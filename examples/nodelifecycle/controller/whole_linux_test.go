package controller_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// The cluster of BenchmarkWhole.
var wholeNodes = 100_000

const (
	podsOfNode = 10
	wholeZones = 3
	beatEvery  = 10 * time.Second
	graceOf    = 50 * time.Second
	// requestsOf is far more than the default of 20 a second, so that all that
	// follows from a loss happens in a short time.
	requestsOf = 5000
)

// whole is the controller of a large cluster with all that the program holds.
// That is the objects as its transform leaves them, in the stores of its
// informers, and the handlers that feed it. Time is virtual. Each call of the
// controller is a turn: in the program a lock is held for it.
type whole struct {
	b     *testing.B
	now   time.Time
	c     *controller.Controller
	jobs  timedqueue.Source[timedqueue.Job]
	feeds edge.Handlers

	nodes, leases, pods store
	nodeOf              []*corev1.Node
	leaseOf             []*coordinationv1.Lease
	podOf               []*corev1.Pod // nil when it is gone
	version             int
	lost                []bool // by node: it is silent
	beat                int    // the node that beats next
	reported            int    // the node that reports its status next
	asked               bool   // the last report asks for a poll

	// Of the turns of a phase, by name, and of all phases.
	spent       time.Duration
	longest     map[string]time.Duration
	counts      map[string]int
	everLongest map[string]time.Duration
}

func wholeConfig() controller.Config {
	thresholds := zone.DefaultThresholds()
	rates := zone.DefaultRates()
	rates.Fraction = 0.001
	return controller.Config{
		Health: nodehealth.Config{
			GracePeriod: graceOf, StartupGracePeriod: time.Minute,
			SightTimeout: 6 * time.Second, UnbrokenPeriod: 2 * beatEvery,
		},
		Zone: zone.Config{
			State: thresholds.State, Rate: rates.Rate, StabilizationWindow: graceOf,
			ObservationWindow: ptr.To(beatEvery + beatEvery/10),
		},
		Requests: controller.RequestBudget{PerSecond: rate.Limit(requestsOf), Burst: 30},
	}
}

func newWhole(b *testing.B) *whole {
	w := &whole{
		b:           b,
		now:         time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		lost:        make([]bool, wholeNodes),
		longest:     map[string]time.Duration{},
		counts:      map[string]int{},
		everLongest: map[string]time.Duration{},
	}
	w.nodes, w.leases, w.pods = newStore(), newStore(), newStore()
	w.restart()
	return w
}

// store is that of an informer. It receives nothing that it does not report at
// once, so the version does not matter.
type store struct{ cache.Indexer }

func (store) LastSyncResourceVersion() string { return "" }

// newStore returns the store of an informer, with the index that informers of a
// factory have.
func newStore() store {
	return store{cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// restart begins with a controller that knows nothing.
func (w *whole) restart() {
	var err error
	w.c, err = controller.New(wholeConfig(), w.now)
	require.NoError(w.b, err)
	w.jobs, err = w.c.Jobs(w.actions(), w.now)
	require.NoError(w.b, err)
	stores := edge.Stores{Nodes: w.nodes, Pods: w.pods}
	w.feeds, err = edge.NewHandlers(w.c, stores, func(turn func(time.Time), poll func() bool) {
		turn(w.now)
		w.asked = poll()
	})
	require.NoError(w.b, err)
}

// threadTime is the CPU time of this thread, to which the benchmark is locked.
// Other work on the machine does not distort it, and what the garbage collector
// makes the thread do counts.
func threadTime(b *testing.B) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// turn measures one call.
func (w *whole) turn(name string, call func()) {
	began := threadTime(w.b)
	call()
	took := threadTime(w.b) - began
	w.spent += took
	w.counts[name]++
	w.longest[name] = max(w.longest[name], took)
}

// poll asks the controller as a Dispatcher does after a change, until it hands
// out nothing, and performs what it hands out.
func (w *whole) poll() {
	for {
		var job timedqueue.Job
		var ok bool
		w.turn("Start", func() { job, ok = w.jobs.Start(w.now) })
		if !ok {
			break
		}
		w.perform(job)
	}
	w.turn("Next", func() { w.jobs.Next(w.now) })
}

// perform does what the controller asks for. Its result is in the cache at
// once.
func (w *whole) perform(job timedqueue.Job) {
	what := strings.TrimPrefix(fmt.Sprintf("%T", job.Task()), "controller.")
	job.Perform(w.b.Context())
	w.turn("Finish "+what, func() { job.Finish(w.now) })
}

func (w *whole) actions() controller.Actions {
	return controller.Actions{
		ReadLeases: func(_ context.Context, read controller.LeaseRead) controller.Leases {
			if read.Node != nil {
				i := indexOf(read.Node.UID)
				return controller.Leases{Versions: map[string]string{read.Node.Name: w.leaseOf[i].ResourceVersion}}
			}
			versions := make(map[string]string, wholeNodes)
			for _, lease := range w.leaseOf {
				versions[lease.Name] = lease.ResourceVersion
			}
			return controller.Leases{Versions: versions}
		},
		Declare: func(_ context.Context, d controller.Declaration) controller.Result[*corev1.Node] {
			return w.wroteNode(w.changeNode(indexOf(d.Node.UID), func(node *corev1.Node) {
				setCondition(node, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
			}))
		},
		ChangeNode: func(_ context.Context, change controller.NodeChange) controller.Result[*corev1.Node] {
			i := indexOf(change.Node.UID)
			return w.wroteNode(w.changeNode(i, func(node *corev1.Node) { node.Spec.Taints = change.Taints }))
		},
		MarkPod: func(_ context.Context, mark controller.PodMark) controller.Result[*corev1.Pod] {
			pod := w.changePod(indexOf(mark.Pod.UID))
			if pod != nil {
				w.turn("Answered pod", func() { w.feeds.Pods.Wrote(pod) })
			}
			return controller.Result[*corev1.Pod]{Object: pod}
		},
		Evict: func(_ context.Context, task eviction.Task) eviction.Result {
			i := indexOf(task.Pod.UID)
			if pod := w.podOf[i]; pod != nil {
				w.podOf[i] = nil
				require.NoError(w.b, w.pods.Delete(pod))
				w.turn("pod gone", func() { w.feeds.Pods.OnDelete(pod) })
			}
			return eviction.Result{Outcome: eviction.OutcomeEvicted, Requests: 2}
		},
		Record: func(context.Context, controller.Record) struct{} { return struct{}{} },
	}
}

func (w *whole) wroteNode(node *corev1.Node) controller.Result[*corev1.Node] {
	w.turn("Answered node", func() { w.feeds.Nodes.Wrote(node) })
	return controller.Result[*corev1.Node]{Object: node}
}

func (w *whole) stamp(meta *metav1.ObjectMeta) {
	w.version++
	meta.ResourceVersion = strconv.Itoa(w.version)
}

// changeNode writes a node and shows it to the controller.
func (w *whole) changeNode(i int, change func(*corev1.Node)) *corev1.Node {
	before := w.nodeOf[i]
	node := *before
	node.Status.Conditions = append([]corev1.NodeCondition(nil), node.Status.Conditions...)
	change(&node)
	w.stamp(&node.ObjectMeta)
	w.nodeOf[i] = &node
	require.NoError(w.b, w.nodes.Update(&node))
	w.turn("node", func() { w.feeds.Nodes.OnUpdate(before, &node) })
	return &node
}

func setCondition(node *corev1.Node, status corev1.ConditionStatus, reason, message string) {
	ready := readyOf(node)
	ready.Status, ready.Reason, ready.Message = status, reason, message
}

// changePod says that a pod is not ready.
func (w *whole) changePod(i int) *corev1.Pod {
	before := w.podOf[i]
	if before == nil {
		return nil
	}
	pod := *before
	pod.Status.Conditions = append([]corev1.PodCondition(nil), pod.Status.Conditions...)
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status = corev1.ConditionFalse
		}
	}
	w.stamp(&pod.ObjectMeta)
	w.podOf[i] = &pod
	require.NoError(w.b, w.pods.Update(&pod))
	w.turn("pod", func() { w.feeds.Pods.OnUpdate(before, &pod) })
	return &pod
}

// renewed returns the lease of a node as it is after a heartbeat now.
func (w *whole) renewed(i int) *coordinationv1.Lease {
	lease := *w.leaseOf[i]
	at := metav1.NewMicroTime(w.now)
	lease.Spec.RenewTime = &at
	w.stamp(&lease.ObjectMeta)
	return &lease
}

// beats makes the next nodes beat, each as one turn.
func (w *whole) beats(nodes int) {
	for range nodes {
		if i := w.beat; !w.lost[i] {
			w.renew(i)
		}
		w.beat = (w.beat + 1) % wholeNodes
	}
}

func (w *whole) renew(i int) {
	before, lease := w.leaseOf[i], w.renewed(i)
	w.leaseOf[i] = lease
	require.NoError(w.b, w.leases.Update(lease))
	w.turn("lease", func() { w.feeds.Leases.OnUpdate(before, lease) })
	// A node that was declared reports that it is ready.
	if ready := readyOf(w.nodeOf[i]); ready.Status != corev1.ConditionTrue {
		w.report(i)
	}
}

// report is the kubelet's report of a node's status.
func (w *whole) report(i int) {
	w.changeNode(i, func(node *corev1.Node) {
		setCondition(node, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
		readyOf(node).LastHeartbeatTime = metav1.NewTime(w.now)
	})
}

// reports makes the next nodes report their status.
func (w *whole) reports(nodes int) {
	for range nodes {
		if !w.lost[w.reported] {
			w.report(w.reported)
		}
		w.reported = (w.reported + 1) % wholeNodes
	}
}

func readyOf(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// pass lets time pass, a millisecond at a time. In each the leases that are due
// are renewed and the dispatcher polls once.
func (w *whole) pass(d time.Duration) {
	const step = time.Millisecond
	for passed := time.Duration(0); passed < d; passed += step {
		w.now = w.now.Add(step)
		if passed%time.Second == 0 {
			w.second(int(passed / time.Second))
		}
		w.beats(wholeNodes * int(step) / int(beatEvery))
		w.poll()
	}
}

// second does what the program does each second, each five and each fifteen.
func (w *whole) second(number int) {
	w.turn("sighted", func() { w.c.Answered(w.now, w.now) })
	if number%5 == 0 {
		w.turn("reevaluate", w.c.Reevaluate)
	}
	if number%15 == 0 {
		w.metrics()
	}
}

// metrics reads what the program's metrics and pages read, with the lock held.
func (w *whole) metrics() {
	w.turn("metrics", func() {
		for _, kind := range controller.DoubtKinds() {
			w.c.Doubted(w.now, kind)
		}
		w.c.Doubts(w.now)
		_ = w.c.Refuted() + w.c.Unread() + w.c.Unconfirmed() + w.c.Undeclared() + w.c.Damped()
		w.c.Blind(w.now)
	})
	w.turn("metrics", func() {
		for _, z := range w.c.Zones() {
			w.c.Queued(z.Zone)
		}
	})
	w.turn("metrics", func() {
		_ = w.c.Waiting() + w.c.Acting()
		w.c.Overdue(w.now)
	})
}

// page goes through /pending.
func (w *whole) page() {
	var nodes []string
	w.turn("page", func() { nodes = w.c.Nodes() })
	for part := range slices.Chunk(nodes, 20) {
		w.turn("page", func() {
			for _, node := range part {
				for range w.c.PendingOn(node) {
					continue
				}
			}
		})
	}
}

// indexOf returns the place of an object, which its UID begins with.
func indexOf(uid types.UID) int {
	i, err := strconv.ParseInt(string(uid[:8]), 16, 64)
	if err != nil {
		panic(err)
	}
	return int(i)
}

func heapInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the first only finds what finalizers and pools still hold
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
