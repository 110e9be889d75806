package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// What one kubelet can and cannot do with its own credentials:
// .github/SECURITY.md names these tests.

// remark has a kubelet that renews nothing write Ready over each Unknown.
func (w *world) remark(name string) {
	node := w.nodes[name]
	if node.Status.Conditions[0].Status != corev1.ConditionUnknown {
		return
	}
	node = node.DeepCopy()
	node.Status.Conditions[0].Status, node.Status.Conditions[0].Reason = corev1.ConditionTrue, "Kubelet"
	w.setNode(node)
}

// C2: a kubelet takes each declaration back without a heartbeat. Its node is
// declared again after a wait that grows to a minute, and costs five requests
// each time.
func TestC2AKubeletThatRemarksItsConditionsCostsFiveRequestsAMinute(t *testing.T) {
	w, sick, healthy := starved(t, 60)
	w.silent[sick[0]] = true
	remarked := func(d time.Duration) (declared, requests int) {
		w.done = nil
		for range d / (100 * time.Millisecond) {
			w.advance(100 * time.Millisecond)
			w.remark(sick[0])
		}
		for _, d := range w.done {
			if _, is := d.task.(Declaration); is {
				declared++
			}
			requests += cost(d.task)
		}
		return declared, requests
	}
	declared, _ := remarked(3 * time.Minute)
	require.LessOrEqual(t, declared, 9)
	declared, requests := remarked(10 * time.Minute)
	require.InDelta(t, 10, declared, 1)
	require.LessOrEqual(t, requests, 5*declared)

	w.next[healthy[1]] = w.now.Add(time.Hour)
	w.report(healthy[1], corev1.ConditionFalse)
	remarked(2 * time.Second)
	require.Contains(t, w.taintsOf(healthy[1]), notReadyNoSchedule, "others do not wait for it")
}

// H1: a lease that says the year 9999, and a duration of decades, buy no time.
func TestH1ALeaseFromTheFutureBuysNoTime(t *testing.T) {
	for _, renewed := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		w := active(t, "a", "b")
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "a-003"},
			Spec: coordinationv1.LeaseSpec{
				RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: ptr.To(int32(1<<31 - 1)),
			},
		}
		w.stamp(&lease.ObjectMeta)
		w.leases["a-003"], w.silent["a-003"] = lease, true
		w.c.ObserveLease(w.now, lease)
		began := w.now
		w.advance(2 * time.Minute)
		require.Equal(t, []time.Duration{grace}, times[Declaration](w, began))
	}
}

// Q2, Q3: a node falls and comes back, also in zones in turns. Nodes that
// already wait for their NoExecute taint are not delayed by it. One that falls
// later waits for one turn of its zone at most.
func TestC2AKubeletThatFlapsTakesOneTurnOfItsZone(t *testing.T) {
	const step, turn = 100 * time.Millisecond, 10 * time.Second
	for _, down := range []time.Duration{3 * time.Second, 11 * time.Second, 25 * time.Second} {
		for _, moves := range []bool{false, true} {
			w := newWorld(t, Config{})
			w.addNodes(20, "a")
			w.addNodes(20, "b")
			w.start()
			w.advance(grace + interval)
			const hostile = "a-019"
			w.next[hostile] = w.now.Add(24 * time.Hour)
			began, period := w.now, down+time.Second
			flap := func(d time.Duration) {
				for range d / step {
					switch since := w.now.Sub(began); since % period {
					case 0:
						if moves {
							moved := w.nodes[hostile].DeepCopy()
							moved.Labels[corev1.LabelTopologyZone] = []string{"a", "b"}[since/period%2]
							w.setNode(moved)
						}
						w.report(hostile, corev1.ConditionFalse)
					case down:
						w.report(hostile, corev1.ConditionTrue)
					}
					w.advance(step)
				}
			}
			flap(2 * time.Minute)
			known := w.ill("a-000", "a-001", "a-002")
			flap(time.Minute)
			late := map[string]time.Duration{"a-000": 0, "a-001": turn, "a-002": 2 * turn}
			names, at := w.releases(known)
			for i, name := range names {
				if free, waited := late[name]; waited {
					require.LessOrEqual(t, at[i]-free, turn, "%s %v %v", name, down, moves)
					delete(late, name)
				}
			}
			require.Empty(t, late, "%v %v", down, moves)
			require.Contains(t, names, hostile, "%v %v", down, moves)
		}
	}
}

// Z3: what one kubelet can do unless a flag bounds it. As the only node that is
// ready it keeps a cluster from being suspended, so that the pods of all others
// leave.
func TestZ3OneNodeThatIsReadyKeepsAClusterActive(t *testing.T) {
	for _, test := range []struct {
		beats  bool
		policy zone.Config
		phase  zone.Phase
		left   int
	}{
		{false, zone.Config{}, zone.PhaseSuspended, 20},
		{true, zone.Config{}, zone.PhaseActive, 0},
		{true, zone.Config{Phase: pausedBelow(0.5)}, zone.PhasePaused, 20},
	} {
		w := newWorld(t, Config{Zone: test.policy})
		for _, node := range append(w.addNodes(10, "a"), w.addNodes(10, "b")...) {
			w.addPod("web-"+node, node, tolerate(30))
		}
		w.addNode("hostile", "c")
		w.start()
		w.advance(2 * time.Minute)
		w.silence("a")
		w.silence("b")
		w.silent["hostile"] = !test.beats
		w.advance(10 * time.Minute)
		require.Equal(t, test.phase, w.c.Phase())
		require.Len(t, w.pods, test.left)
	}
}

// E2: a kubelet writes the status of its pods. That a pod was bound later than
// it was gives it no more time.
func TestE2APodThatIsBoundAgainAndAgainGetsNoMoreTime(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("kept", "a-000", tolerate(60))
	w.advance(time.Second)
	tainted := w.nodes["a-000"].DeepCopy()
	added := metav1.NewTime(w.now)
	tainted.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}}
	w.setNode(tainted)
	began := w.now
	for w.pods[pod.UID] != nil {
		w.advance(time.Second)
		require.LessOrEqual(t, w.now.Sub(began), 62*time.Second)
		if seen := w.pods[pod.UID]; seen != nil {
			seen = seen.DeepCopy()
			seen.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.now)
			w.setPod(seen)
		}
	}
}

// mirrored has a kubelet report not ready and make 20 mirror pods a second that
// tolerate nothing, for a minute. Then a pod has to leave another node. It
// returns how long that took, at most five minutes.
func mirrored(t *testing.T, config eviction.Config) time.Duration {
	w := newWorld(t, Config{Requests: RequestBudget{PerSecond: 20, Burst: 30}, Eviction: config})
	hostile, healthy := w.addNodes(30, "a")[0], w.addNodes(30, "b")[0]
	w.start()
	w.advance(grace + interval)
	w.next[hostile] = w.now.Add(24 * time.Hour)
	var drained []types.UID
	began := w.now
	for i := 0; ; i++ {
		if i%100 == 0 {
			w.report(hostile, corev1.ConditionFalse)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("mirror-", i), UID: types.UID(fmt.Sprint("mirror-", i)),
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
		}, Spec: corev1.PodSpec{NodeName: hostile}}
		w.setPod(pod)
		w.advance(50 * time.Millisecond)
		since := w.now.Sub(began)
		switch {
		case drained == nil && since >= time.Minute:
			require.Contains(t, w.taintsOf(hostile), notReadyNoExecute)
			drained, began = w.drain(healthy, 1), w.now
		case drained != nil && (w.left(drained) == 0 || since >= 5*time.Minute):
			return since
		}
	}
}

// C2: mirror pods, the only ones that a kubelet may make, delay the evictions
// of all other nodes. They do not if they are spared, as by default, or if a
// budget bounds them.
func TestC2MirrorPodsDelayOtherEvictionsUnlessAFlagBoundsThem(t *testing.T) {
	require.Greater(t, mirrored(t, eviction.Config{}), 2*time.Minute, "--spare-mirror-pods=false")
	require.LessOrEqual(t, mirrored(t, eviction.Config{Exempt: eviction.IsMirrorPod}), time.Second,
		"--spare-mirror-pods, the default")
	perNode := eviction.Budget{Name: "node", Limit: 1, ByNode: func(node *corev1.Node) string { return node.Name }}
	require.LessOrEqual(t, mirrored(t, eviction.Config{Budgets: []eviction.Budget{perNode}}), 2*time.Second,
		"--budget-per-node=1")
}

// largestRequest is etcd's default of --max-request-bytes.
const largestRequest = 3 << 19

// manyTolerations returns as many tolerations as fit into one object. The
// smallest that the API server takes has a key of one letter.
func manyTolerations() []corev1.Toleration {
	smallest := corev1.Toleration{Key: "k"}
	one := (&corev1.PodSpec{Tolerations: []corev1.Toleration{smallest}}).Size() - (&corev1.PodSpec{}).Size()
	return slices.Repeat([]corev1.Toleration{smallest}, largestRequest/one)
}

// An object holds an eighth of a million, which take 9 MiB in a cache.
func TestNoObjectHoldsAMillionTolerations(t *testing.T) {
	require.Len(t, manyTolerations(), 131_072)
	require.EqualValues(t, 72, unsafe.Sizeof(corev1.Toleration{}))
}

// C2: a pod with as many tolerations as fit is decided like any other, and
// delays no other.
func TestE1APodWithAsManyTolerationsAsFitLeaves(t *testing.T) {
	w := active(t, "a", "b")
	many := append(manyTolerations(), tolerate(20))
	w.addPod("many", "a-000", many...)
	w.addPod("few", "a-000", tolerate(20))
	tainted := w.nodes["a-000"].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(tainted)
	began := w.now
	w.advance(time.Minute)
	evicted := times[eviction.Task](w, began)
	require.Len(t, evicted, 3)
	require.Equal(t, evicted[0], evicted[1])
}

// turnsWithTolerations taints a node with so many pods that have as many
// tolerations as fit, and takes that back. It returns how long each turn took.
func turnsWithTolerations(b *testing.B, pods int) (took []time.Duration) {
	b.Helper()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c, err := New(Config{}, now)
	require.NoError(b, err)
	jobs, err := c.Jobs(new(world).actions(), now)
	require.NoError(b, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}
	c.ObserveNode(now, node)
	many := append(manyTolerations(), tolerate(60))
	for i := range pods {
		id := fmt.Sprint(i)
		c.ObservePod(now, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: id, UID: types.UID(id)},
			Spec:       corev1.PodSpec{NodeName: "n", Tolerations: many},
		})
	}
	c.MarkSynced(now)
	turn := func(f func()) {
		began := time.Now()
		f()
		took = append(took, time.Since(began))
	}
	for _, taints := range [][]corev1.Taint{{{Key: "a", Effect: corev1.TaintEffectNoExecute}}, nil} {
		node = node.DeepCopy()
		node.ResourceVersion, node.Spec.Taints = fmt.Sprint(len(taints)), taints
		turn(func() { c.ObserveNode(now, node) })
		for more := true; more; {
			turn(func() { _, more = jobs.Start(now) })
		}
		require.Equal(b, pods*len(taints), c.Waiting())
	}
	return took
}

// BenchmarkLongestTurnWithTolerations is the longest turn under the lock when a
// node with such pods gets a taint and loses it. Of each turn the fastest of
// all rounds counts, because the machine may be busy.
func BenchmarkLongestTurnWithTolerations(b *testing.B) {
	var least []time.Duration
	for b.Loop() {
		took := turnsWithTolerations(b, 110)
		if least == nil {
			least = took
		}
		require.Len(b, took, len(least))
		for i := range least {
			least[i] = min(least[i], took[i])
		}
	}
	b.ReportMetric(float64(slices.Max(least))/1e6, "ms/turn")
}

// BenchmarkTolerations is the first turn: a node with such pods is tainted, and
// those that a turn can decide are.
func BenchmarkTolerations(b *testing.B) {
	for _, test := range []struct {
		name   string
		pods   int
		exempt func(*corev1.Pod) bool
	}{{"1 pod", 1, nil}, {"10 pods", 10, nil}, {"110 pods", 110, nil}, {"110 spared pods", 110, eviction.IsMirrorPod}} {
		b.Run(test.name, func(b *testing.B) {
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			c, err := New(Config{Eviction: eviction.Config{Exempt: test.exempt}}, now)
			require.NoError(b, err)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}
			c.ObserveNode(now, node)
			many := manyTolerations()
			for i := range test.pods {
				id := fmt.Sprint(i)
				c.ObservePod(now, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: id, UID: types.UID(id),
						Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}},
					Spec: corev1.PodSpec{NodeName: "n", Tolerations: many},
				})
			}
			c.MarkSynced(now)
			for version := 0; b.Loop(); version++ {
				node = node.DeepCopy()
				node.ResourceVersion = fmt.Sprint(version)
				node.Spec.Taints = []corev1.Taint{{Key: fmt.Sprint("t", version), Effect: corev1.TaintEffectNoExecute}}
				c.ObserveNode(now, node)
			}
		})
	}
}

// E2: what one kubelet can do: a controller that starts believes when a pod was
// bound, and has nothing to compare that with.
func TestE2ARestartBelievesTheTimeOfBinding(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("kept", "a-000", tolerate(60))
	tainted := w.nodes["a-000"].DeepCopy()
	added := metav1.NewTime(w.now)
	tainted.Spec.Taints = []corev1.Taint{
		{Key: "maintenance", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
	}
	w.setNode(tainted)
	w.advance(50 * time.Second)
	seen := pod.DeepCopy()
	seen.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.now)
	w.setPod(seen)
	w.start()
	w.advance(59 * time.Second)
	require.NotNil(t, w.pods[pod.UID])
	w.advance(3 * time.Second)
	require.Nil(t, w.pods[pod.UID])
}
