package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

const timeout = 2 * time.Minute

// byNode returns a world whose controller evicts whole nodes. Each zone has 10
// nodes. On each are a pod that tolerates everything for ever and one of a
// DaemonSet.
func byNode(t *testing.T, zones ...string) *world {
	w := newWorld(t, Config{EvictionMode: EvictionModeNode, PodEvictionTimeout: timeout})
	for _, name := range zones {
		for _, node := range w.addNodes(10, name) {
			w.addPod("web-"+node, node, corev1.Toleration{Operator: corev1.TolerationOpExists})
			w.addDaemonPod(node)
		}
	}
	w.start()
	w.advance(grace + interval)
	require.Equal(t, zone.PhaseActive, w.c.Phase())
	w.done = nil
	return w
}

func (w *world) addDaemonPod(node string) {
	controls := true
	pod := w.addPod("agent-"+node, node).DeepCopy()
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &controls}}
	w.setPod(pod)
}

// evicted returns which pods were evicted, and when.
func (w *world) evicted(since time.Time) map[string]time.Duration {
	found := map[string]time.Duration{}
	for _, d := range w.done {
		if evict, is := d.task.(eviction.Task); is && d.err == nil {
			found[evict.Pod.Name] = d.at.Sub(since).Round(time.Second)
		}
	}
	return found
}

// E9: pods leave when their node has not been ready for the timeout, whatever
// they tolerate. Those of DaemonSets stay, and no NoExecute taint is set.
func TestE9PodsLeaveAfterTheTimeout(t *testing.T) {
	w := byNode(t, "a", "b")
	ill := w.now
	w.silent["a-003"] = true
	w.report("a-003", corev1.ConditionFalse)
	w.advance(timeout + interval)
	require.Equal(t, map[string]time.Duration{"web-a-003": timeout}, w.evicted(ill))
	require.NotContains(t, w.taintsOf("a-003"), unreachableNoExecute)
	require.NotContains(t, w.taintsOf("a-003"), notReadyNoExecute)
	require.Equal(t, eviction.ReasonNodeEvicted, deeds[eviction.Task](w)[0].Decision.Reason)

	var told []string
	for _, r := range deeds[Record](w) {
		if r.Object.Kind == "Pod" {
			told = append(told, r.Reason)
		}
	}
	require.Contains(t, told, ReasonNodeEviction)
}

// A kubelet that first says that it is not ready and then nothing has been ill
// all the time.
func TestE9SilenceDoesNotBeginTheTimeoutAgain(t *testing.T) {
	w := byNode(t, "a", "b")
	ill := w.now
	w.silent["a-003"] = true
	w.report("a-003", corev1.ConditionFalse)
	w.advance(timeout - time.Second)
	require.Equal(t, corev1.ConditionUnknown, w.nodes["a-003"].Status.Conditions[0].Status)
	require.Empty(t, w.evicted(ill))
	w.advance(2 * time.Second)
	require.Equal(t, map[string]time.Duration{"web-a-003": timeout}, w.evicted(ill))
}

// E9: a pod that arrives on an evicted node goes at once.
func TestE9PodThatArrivesOnAnEvictedNodeGoesAtOnce(t *testing.T) {
	w := byNode(t, "a", "b")
	w.silent["a-003"] = true
	w.report("a-003", corev1.ConditionFalse)
	w.advance(timeout + time.Minute)
	arrived := w.now
	w.done = nil
	w.addPod("late", "a-003", tolerate(600))
	w.addDaemonPod("a-003")
	w.act()
	require.Equal(t, map[string]time.Duration{"late": 0}, w.evicted(arrived))
}

// E6: an eviction that reads its node finds that it is ready again, before the
// watch has shown it.
func TestE6EmptyingAsksTheNodeThatWasRead(t *testing.T) {
	w := byNode(t, "a", "b")
	w.silent["a-003"] = true
	w.report("a-003", corev1.ConditionFalse)
	w.advance(timeout + interval)
	task, node := deeds[eviction.Task](w)[0], w.nodes["a-003"]
	pod := w.addPod("web-a-003", "a-003").DeepCopy()
	pod.UID = task.Pod.UID
	require.True(t, task.Reevaluate(pod, node, w.now).DueAt(w.now))
	ready := node.DeepCopy()
	ready.Status.Conditions[0].Status = corev1.ConditionTrue
	require.False(t, task.Reevaluate(pod, ready, w.now).DueAt(w.now))
}

// E9: a node that is ready again is not evicted. If its eviction has begun, the
// pods that have not left stay.
func TestE9NodeThatIsReadyAgainKeepsItsPods(t *testing.T) {
	w := byNode(t, "a", "b")
	ill := w.now
	w.report("a-003", corev1.ConditionFalse)
	w.silent["a-003"] = true
	w.advance(timeout - time.Second)
	w.silent["a-003"] = false
	w.report("a-003", corev1.ConditionTrue)
	w.advance(time.Minute)
	require.Empty(t, w.evicted(ill))
	require.Zero(t, w.c.Queued(w.c.objects.nodes["a-003"].zone))

	w.fail = func(task any) error {
		if _, is := task.(eviction.Task); is {
			return errServer // it cannot evict
		}
		return nil
	}
	w.silent["a-003"] = true
	w.report("a-003", corev1.ConditionFalse)
	w.advance(timeout + time.Minute)
	require.Equal(t, 1, w.c.Waiting())
	w.fail = nil
	w.report("a-003", corev1.ConditionTrue)
	w.silent["a-003"] = false
	w.advance(10 * time.Minute)
	require.Empty(t, w.evicted(ill), "what had not gone stays")
	w.addPod("late", "a-003")
	w.advance(time.Minute)
	require.Empty(t, w.evicted(ill), "and so does a pod that comes")
}

// E9: nodes go at their zone's rate, and one without pods does not keep the
// next.
func TestE9NodesGoAtTheRateOfTheirZone(t *testing.T) {
	w := byNode(t, "a", "b")
	ill := w.now
	for i, name := range []string{"a-000", "a-001", "a-002"} {
		w.silent[name] = true
		w.report(name, corev1.ConditionFalse)
		if i == 1 {
			for _, pod := range w.sortedPods() {
				if pod.Spec.NodeName == name {
					w.deletePod(pod.UID)
				}
			}
		}
	}
	w.advance(timeout + time.Minute)
	require.Equal(t, map[string]time.Duration{"web-a-000": timeout, "web-a-002": timeout + 10*time.Second}, w.evicted(ill))
}

// E9: a node whose pods wait for the end of a toleration uses a token too: they
// leave earlier for it. Found by the simulation: it was compared how many pods
// wait.
func TestE9PodsThatWouldLeaveLaterAnywayUseAToken(t *testing.T) {
	w := byNode(t, "a", "b")
	ill := w.now
	for _, name := range []string{"a-000", "a-001", "a-002"} {
		node := w.nodes[name].DeepCopy()
		node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute,
			TimeAdded: ptr.To(metav1.NewTime(w.now))}}
		w.setNode(node)
		w.addPod("patient-"+name, name, tolerate(600),
			corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To(int64(600))})
		for _, pod := range w.sortedPods() {
			if pod.Spec.NodeName == name && pod.Name != "patient-"+name {
				w.deletePod(pod.UID)
			}
		}
		w.silent[name] = true
		w.report(name, corev1.ConditionFalse)
	}
	w.advance(timeout + time.Minute)
	require.Equal(t, map[string]time.Duration{
		"patient-a-000": timeout, "patient-a-001": timeout + 10*time.Second, "patient-a-002": timeout + 20*time.Second,
	}, w.evicted(ill))
}

// A restart does not begin the timeout again, nor end it early.
func TestE9RestartKeepsTheTimeout(t *testing.T) {
	w := byNode(t, "a", "b")
	w.silent["a-003"] = true
	w.advance(grace + interval)
	ill := w.nodes["a-003"].Status.Conditions[0].LastTransitionTime.Time
	w.advance(timeout / 2)
	w.start()
	w.advance(5 * time.Minute)
	leaves := w.evicted(ill)["web-a-003"]
	require.GreaterOrEqual(t, leaves, timeout)
	require.LessOrEqual(t, leaves, timeout+2*time.Second)
}

// Z3: while all zones are down no pod is evicted, and after that the timeout
// begins again.
func TestE9OutageOfAllZonesBeginsTheTimeoutAgain(t *testing.T) {
	w := byNode(t, "a", "b")
	w.silent["a-000"] = true
	w.report("a-000", corev1.ConditionFalse)
	w.advance(timeout + time.Minute)
	require.True(t, w.c.objects.nodes["a-000"].emptied)
	w.addPod("stays", "b-000")
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.advance(2 * grace)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	w.done = nil
	w.addPod("came", "a-000")
	w.advance(time.Hour)
	require.Empty(t, w.evicted(w.now), "nothing leaves the evicted node either")

	for _, name := range w.names() {
		if name != "a-000" && name != "b-000" {
			w.silent[name] = false
		}
	}
	back := w.now
	w.advance(grace + timeout + time.Minute)
	gone := w.evicted(back)
	for _, pod := range []string{"came", "stays", "web-b-000"} {
		require.GreaterOrEqual(t, gone[pod], grace+timeout, pod)
	}
	require.Len(t, gone, 3)
}

// Taints that others set act in this mode too.
func TestE9AdministratorsTaintsAct(t *testing.T) {
	w := byNode(t, "a", "b")
	node := w.nodes["a-001"].DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	set := w.now
	w.setNode(node)
	w.advance(time.Second)
	require.Equal(t, map[string]time.Duration{"agent-a-001": 0}, w.evicted(set), "the other one tolerates everything")
}

func TestEvictionModeIsValidated(t *testing.T) {
	for _, config := range []Config{{EvictionMode: "zone"}, {EvictionMode: EvictionModeNode, PodEvictionTimeout: -1}} {
		_, err := New(config, time.Now())
		require.ErrorIs(t, err, ErrInvalidConfig)
	}
}
