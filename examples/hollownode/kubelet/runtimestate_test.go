package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestChecksAndRetriesHaveTheKubeletsTimes(t *testing.T) {
	at := start.Add
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct{ now, last, next time.Duration }{
		{0, 0, 0}, {1, 0, 5 * s}, {5*s - 1, 0, 5 * s}, {5 * s, 5 * s, 5 * s}, {12 * s, 10 * s, 15 * s},
	} {
		n := newKubelet(nil, start, "node")
		assert.Equal(t, at(test.last), n.runtime.lastCheck(at(test.now)), test.now)
		assert.Equal(t, at(test.next), n.runtime.nextCheck(at(test.now)), test.now)
	}
	for _, test := range []struct{ now, last, next time.Duration }{
		{0, 0, 0}, {1, 0, 100 * ms}, {150 * ms, 100 * ms, 200 * ms}, {120*s - 1, 119900 * ms, 120 * s},
		{120 * s, 120 * s, 120 * s}, {120*s + 1, 120 * s, 125 * s},
	} {
		n := newKubelet(nil, start, "node")
		n.nodeStatus.searching = true
		assert.Equal(t, at(test.last), n.runtime.lastCheck(at(test.now)), test.now)
		assert.Equal(t, at(test.next), n.runtime.nextCheck(at(test.now)), test.now)
	}
	for now, want := range map[time.Duration]time.Duration{
		0: 0, 1: 100 * ms, 100 * ms: 100 * ms, 101 * ms: 300 * ms, s: 1500 * ms, 5 * s: 6300 * ms,
		7 * s: 11300 * ms, 11300 * ms: 11300 * ms, 20 * s: 21300 * ms,
	} {
		assert.Equal(t, at(want), nextRetry(start, at(now)), now)
	}
}

// The runtime is down from 12 s on. The last good check was at 10 s, so the
// loop stops at 40 s.
func TestALoopGoesOnFor30SecondsWithoutItsRuntime(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", readiness, "stop-time", "1s")
	w.run(12 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.pod("early", nil)
	w.run(28*time.Second - 1)
	assert.Equal(t, []string{"PatchStatus Pending c:ContainerCreating"}, w.statuses("early"), "it is admitted")
	assert.Equal(t, loopFailing, w.fleet.nodes["node"].runtime.loop)
	w.run(1)
	assert.Equal(t, loopStopped, w.fleet.nodes["node"].runtime.loop)
	w.pod("late", nil)
	w.delete("a", 30)
	w.runtime.deaf = true
	w.run(time.Minute)
	assert.Empty(t, w.statuses("late"))
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running(), "its deletion waits")
	assert.True(t, w.status("a").ContainerStatuses[0].Ready, "a probe cannot run")

	// The runtime is back at 1m40s, which a check sees at once. Retries come at
	// 46.3 s and then each 5 s, the next at 1m41.3s.
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(1300*time.Millisecond - 1)
	assert.Equal(t, loopStopped, w.fleet.nodes["node"].runtime.loop)
	w.run(time.Minute)
	assert.Equal(t, loopRunning, w.fleet.nodes["node"].runtime.loop)
	assert.NotContains(t, w.pods, state.UID)
	for _, name := range []string{"early", "late"} {
		assert.Contains(t, w.statuses(name), "PatchStatus Running ready c:running")
	}
	assert.Contains(t, w.log, "1m41.3s PatchStatus late Running ready c:running")
}

// A kubelet that starts without its runtime cannot know which containers run.
// It would reject a pod under pressure whose containers run on.
func TestAKubeletThatStartsWithoutItsRuntimeDecidesNothing(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(12 * time.Second)
	written := len(w.log)
	w.endProcess("node")
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true, MemoryPressure: true})
	assert.Equal(t, loopStopped, w.fleet.nodes["node"].runtime.loop)
	w.run(20 * time.Second)
	assert.Empty(t, w.log[written:])
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(20 * time.Second)
	assert.Empty(t, w.log[written:], "its container runs, as is shown")
	assert.Equal(t, loopRunning, w.fleet.nodes["node"].runtime.loop)
}

func TestWhatHappensWithoutARuntimeIsSeenWhenItIsBack(t *testing.T) {
	for _, outage := range []time.Duration{10 * time.Second, 2 * time.Minute} {
		w := newWorld(t, "node")
		w.pod("crashes", nil)
		w.pod("pulled", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other" }, "pull-time", "8s")
		w.pod("mounted", nil, "mount-time", "9s")
		w.pod("gone", nil)
		w.pod("deadline", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(20)) })
		w.run(5 * time.Second)
		w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
		w.runtime.Crash(w.now, "crashes", "c", 3)
		w.run(outage / 2)
		written := len(w.log)
		delete(w.pods, "gone")
		w.fleet.ForgetPod(w.now, "gone")
		w.run(outage / 2)
		assert.Len(t, w.log, written)
		w.fleet.SetFaults(w.now, "node", Faults{})
		w.run(time.Minute)
		assert.EqualValues(t, 1, w.status("crashes").ContainerStatuses[0].RestartCount)
		for _, name := range []string{"crashes", "pulled", "mounted"} {
			require.Contains(t, w.statuses(name), "PatchStatus Running ready c:running", "%s after %s", name, outage)
		}
		assert.Equal(t, "DeadlineExceeded", w.status("deadline").Reason)
		_, found := w.runtime.Pod(w.now, "gone")
		assert.False(t, found)
	}
}

// Its containers may run, and the kubelet has just begun.
func TestNoPhaseIsFinalWhileTheRuntimeDoesNotAnswer(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(20)) })
	w.run(10 * time.Second)
	w.now = w.now.Add(time.Minute)
	w.restart("node")
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, corev1.PodRunning, w.status("a").Phase)
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Minute)
	assert.Equal(t, corev1.PodFailed, w.status("a").Phase)
}

func TestWritesGoOnWithoutARuntime(t *testing.T) {
	w := newWorld(t, "node")
	w.refuse = func(Task) bool { return w.now.Before(start.Add(time.Minute)) }
	w.pod("a", nil)
	w.run(time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.run(10 * time.Minute)
	assert.Contains(t, describeStatus(w.status("a")), "Running ready")
}

func TestAKubeletThatStartsWithoutARuntimeWaitsForIt(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(2 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.restartKubelet("node")
	w.pod("b", nil)
	w.run(time.Minute)
	assert.Empty(t, w.statuses("b"))
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Minute)
	assert.Contains(t, w.statuses("b"), "PatchStatus Running ready c:running")
	assert.Zero(t, w.status("a").ContainerStatuses[0].RestartCount)
}

// The network is down from 2 s on, which the check at 5 s sees. It is back at
// 61 s, which the check at 65 s sees.
func TestWithoutANetworkOnlyPodsOfTheNodesNetworkAreSynced(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", nil)
	w.pod("ends", nil)
	w.run(2 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{NetworkDown: true})
	w.pod("early", nil)
	w.run(4 * time.Second)
	w.pod("b", nil)
	w.pod("host", func(p *corev1.Pod) { p.Spec.HostNetwork = true })
	w.runtime.Crash(w.now, "a", "c", 1)
	w.delete("ends", 30)
	w.run(55 * time.Second)
	assert.Contains(t, describeStatus(w.status("early")), "Running ready")
	assert.Contains(t, describeStatus(w.status("host")), "Running ready")
	assert.Equal(t, "Pending c:ContainerCreating", describeStatus(w.status("b")))
	assert.Equal(t, "Running c:exited=1", describeStatus(w.status("a")))
	assert.NotContains(t, w.names(), "ends")
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(4*time.Second - 1)
	assert.Equal(t, "Pending c:ContainerCreating", describeStatus(w.status("b")))
	w.run(1)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("b")))
	assert.Equal(t, "Running ready c:running/1", describeStatus(w.status("a")))
}

// A kubelet starts some things once, when its runtime is first up. Of these the
// visits of its pods are here, and the end of the search for the first Ready.
func TestWhatDependsOnTheRuntimeStartsOnceWhenItIsFirstUp(t *testing.T) {
	w := newWorld(t)
	w.static = []*corev1.Pod{staticPod("agent")}
	w.restart("node")
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.pod("a", nil)
	w.pod("ending", nil)
	w.delete("ending", 30)
	w.run(time.Minute)
	assert.Empty(t, w.log)
	assert.Empty(t, w.nodeLog)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	for range 3 {
		w.fleet.SetFaults(w.now, "node", Faults{})
		w.run(10 * time.Minute)
		assert.Equal(t, 2, w.runtime.started)
		assert.Equal(t, []string{"PatchStatus Running ready c:running"}, w.statuses("a"))
		assert.Equal(t, []string{"1m0s ReportNode node"}, w.nodeLog)
		assert.Equal(t, 1, w.created, "mirrors")
		assert.NotContains(t, w.pods, types.UID("ending"))
		w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
		w.run(2 * time.Minute)
	}
}
