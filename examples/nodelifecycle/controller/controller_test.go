package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// active returns a world with zones of ten nodes, with a pod on each that
// tolerates 30 seconds, in which nodes may be acted against.
func active(t *testing.T, zones ...string) *world {
	w := newWorld(t, Config{})
	for _, name := range zones {
		for _, node := range w.addNodes(10, name) {
			w.addPod("web-"+node, node, tolerate(30))
		}
	}
	w.start()
	w.advance(grace + interval)
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	w.done = nil
	return w
}

func TestFromSilenceToEviction(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-003"] = true
	lastBeat, _ := w.c.silences.health.LastHeartbeat("a-003")
	w.advance(2 * time.Minute)

	require.Equal(t, []time.Duration{grace}, times[Declaration](w, lastBeat), "declared when grace ends")
	require.Equal(t, []time.Duration{grace, grace + interval}, times(w, lastBeat, patchesTaints),
		"NoSchedule at once, NoExecute when the extent of the disruption is known")
	evicted := times[eviction.Task](w, lastBeat)
	require.Len(t, evicted, 1)
	require.GreaterOrEqual(t, evicted[0], grace+interval+30*time.Second, "not before the toleration ends")
	require.LessOrEqual(t, evicted[0], grace+interval+31*time.Second, "at most a second after")
	require.Len(t, deeds(w, marksPod), 1)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))

	w.silent["a-003"] = false
	w.advance(time.Minute)
	require.Empty(t, w.taintsOf("a-003"), "all taints go with the first beat")
	require.Len(t, deeds(w, patchesTaints), 3, "in one patch")
}

// A write whose action panics is tried again. An eviction is the tracker's
// matter.
func TestQ11AnActionWithoutAResultHasFailed(t *testing.T) {
	w := active(t, "a", "b")
	lost := map[string]int{}
	w.fail = func(task any) error {
		kind := fmt.Sprintf("%T", task)
		if _, isEviction := task.(eviction.Task); isEviction || lost[kind] == 3 {
			return nil
		}
		lost[kind]++
		return errPanicked
	}
	w.silent["a-003"] = true
	w.advance(2 * time.Minute)
	require.Len(t, deeds[Declaration](w), 4)
	require.Len(t, deeds(w, marksPod), 4)
	require.Len(t, deeds(w, readsOne), 4)
	require.Len(t, deeds(w, patchesTaints), 1+3, "its zone is known by then: both taints at once")
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
}

// Start and Next are asked after each heartbeat of each node.
func TestStartAndNextOfAQuietClusterAllocateNothing(t *testing.T) {
	w := active(t, "a", "b")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = w.jobs.Start(w.now)
		_, _ = w.jobs.Next(w.now)
	}))
}

// Neither of the two that handle many pods keeps the other waiting.
func TestMarksAndEvictionsTakeTurns(t *testing.T) {
	w := active(t, "a")
	for i := range 4 {
		w.addPod(fmt.Sprint("more-", i), "a-003")
	}
	w.advance(time.Second)
	w.done = nil
	node := w.nodes["a-003"].DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	w.setNode(node)
	w.advance(time.Second)
	var order []string
	for _, done := range w.done {
		switch done.task.(type) {
		case PodMark:
			order = append(order, "mark")
		case eviction.Task:
			order = append(order, "evict")
		}
	}
	// A pod that is evicted first needs no mark.
	require.Equal(t, []string{"evict", "mark", "evict", "mark", "evict", "mark", "evict"}, order)
}

func TestQuietClusterMakesNoCall(t *testing.T) {
	w := active(t, "a", "b", "c")
	w.advance(time.Hour)
	w.c.Reevaluate()
	w.advance(time.Second)
	require.Empty(t, w.done)
}

func TestNothingIsDoneBeforeSynced(t *testing.T) {
	w := newWorld(t, Config{})
	c, err := New(w.config, w.now)
	require.NoError(t, err)
	w.addNodes(3, "a")
	for _, node := range w.nodes {
		node.Spec.Unschedulable = true
		c.ObserveNode(w.now, node)
	}
	jobs, err := c.Jobs(w.actions(), w.now)
	require.NoError(t, err)
	_, ok := jobs.Start(w.now.Add(time.Hour))
	require.False(t, ok)
	_, ok = jobs.Next(w.now)
	require.False(t, ok)
}

func TestAllTaintsDueTogetherAreOnePatch(t *testing.T) {
	w := active(t, "a")
	node := w.nodes["a-000"].DeepCopy()
	node.Spec.Unschedulable = true
	node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Conditions = append(node.Status.Conditions,
		corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
	w.setNode(node)
	w.advance(time.Second)
	require.Len(t, deeds(w, patchesTaints), 1)
	require.Equal(t, []string{
		corev1.TaintNodeDiskPressure + ":NoSchedule", corev1.TaintNodeUnschedulable + ":NoSchedule", "team:NoSchedule",
	}, w.taintsOf("a-000"))
}

func TestReadyFalseIsTaintedAndSwappedWithItsTime(t *testing.T) {
	w := active(t, "a")
	w.silent["a-001"] = true // we report for it
	w.report("a-001", corev1.ConditionFalse)
	w.advance(interval + time.Second)
	require.Equal(t, []string{notReadyNoExecute, notReadyNoSchedule}, w.taintsOf("a-001"))
	added := timeAdded(t, w.nodes["a-001"])
	require.Empty(t, deeds(w, marksPod), "its kubelet is alive and speaks for its pods")

	w.advance(grace)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-001"))
	require.Equal(t, added, timeAdded(t, w.nodes["a-001"]), "pods go on counting from the first taint")
	require.Len(t, deeds(w, patchesTaints), 3, "not-ready twice, then one swap of both")
}

func timeAdded(t *testing.T, node *corev1.Node) metav1.Time {
	t.Helper()
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			return *taint.TimeAdded
		}
	}
	t.Fatalf("node %s has no NoExecute taint", node.Name)
	return metav1.Time{}
}

// The rate is kept, and the tenth dead node of a zone waits for the nine
// before.
func TestZoneRateIsKept(t *testing.T) {
	w := active(t, "a", "b")
	cut := w.now
	for _, name := range []string{"a-000", "a-001", "a-002", "a-003"} {
		w.silent[name] = true
	}
	w.advance(3 * time.Minute)
	var released []time.Time
	for _, d := range w.done {
		if patch, ok := d.task.(NodeChange); ok && patch.Released {
			released = append(released, d.at)
			require.GreaterOrEqual(t, d.at.Sub(cut), grace)
		}
	}
	require.Len(t, released, 4)
	for i := 1; i < len(released); i++ {
		require.GreaterOrEqual(t, released[i].Sub(released[i-1]), 10*time.Second-time.Microsecond, "0.1 nodes a second")
	}
}

func TestLabelsFollow(t *testing.T) {
	w := active(t, "a")
	node := w.nodes["a-000"].DeepCopy()
	node.Labels[corev1.LabelOSStable] = "linux"
	node.Labels[corev1.LabelArchStable] = "arm64"
	node.Labels["beta.kubernetes.io/arch"] = "amd64"
	w.setNode(node)
	w.advance(time.Second)
	require.Len(t, deeds(w, patchesLabels), 1, "both in one patch")
	require.Equal(t, "linux", w.nodes["a-000"].Labels["beta.kubernetes.io/os"])
	require.Equal(t, "arm64", w.nodes["a-000"].Labels["beta.kubernetes.io/arch"])
}

func TestEventsOfANodesLife(t *testing.T) {
	w := active(t, "a", "b")
	w.addNode("c-000", "c")
	w.advance(time.Second)
	w.silent["c-000"] = true
	w.advance(grace + interval)
	w.deleteNode("c-000")
	w.advance(time.Second)
	var reasons []string
	for _, e := range deeds[Record](w) {
		reasons = append(reasons, e.Reason)
	}
	require.Equal(t, []string{"RegisteredNode", "NodeNotReady", "RemovingNode"}, reasons)
}

// What is gone leaves nothing behind.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	w := active(t, "a", "b")
	for _, name := range w.names() {
		w.silent[name] = name < "a-005"
	}
	w.advance(grace + 2*interval)
	for _, pod := range w.sortedPods() {
		w.deletePod(pod.UID)
	}
	for _, name := range w.names() {
		w.deleteNode(name)
	}
	w.advance(time.Minute)
	nodes, pods := w.c.Len()
	require.Zero(t, nodes)
	require.Zero(t, pods)
	require.Empty(t, w.c.objects.podsOn)
	require.Zero(t, w.c.silences.health.Len())
	require.Empty(t, w.c.Zones())
	require.Zero(t, w.c.releases.queue.Len())
	require.Zero(t, w.c.writes.queue.Len())
	require.Zero(t, w.c.marks.queue.Len())
	require.Zero(t, w.c.Waiting())
	_, ok := w.jobs.Next(w.now)
	require.False(t, ok)
}

// Found by the simulation (seed 109 of examples/outage/explore, 2026-11-21). A
// node that has just been created has no conditions until its kubelet reports.
// It was taken for one that is Unknown. It was tainted NoExecute long before
// the end of its startup grace period, and lost the taint that the API server
// gives new nodes.
func TestNodeOfWhichNothingWasSaidIsLeftAloneUntilItsStartupGraceEnds(t *testing.T) {
	w := newWorld(t, Config{Health: nodehealth.Config{GracePeriod: grace, StartupGracePeriod: 2 * grace}})
	w.addNodes(3, "a")
	w.start()
	w.advance(2 * grace)
	w.done = nil
	created := w.addNode("new", "a")
	w.silent["new"] = true
	created = created.DeepCopy()
	created.Status.Conditions = nil
	created.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.c.ForgetNode(w.now, "new")
	w.setNode(created)
	w.addPod("p", "new", tolerate(300))

	w.advance(2*grace - time.Second)
	require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"))
	require.Empty(t, deeds(w, patchesTaints))
	require.Empty(t, deeds(w, marksPod))
	require.Zero(t, w.c.Queued(w.c.objects.nodes["new"].zone), "it waits for no token")
	w.advance(grace)
	require.Len(t, deeds[Declaration](w), 1)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("new"))
	require.Len(t, deeds(w, marksPod), 1)
}
