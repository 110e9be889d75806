package kubelet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodsThatOnlyTheRuntimeHasEndWithinTheirSecond(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.pod("b", nil)
	w.run(20 * time.Second)
	written := len(w.log)
	delete(w.pods, "a")
	w.restart("node")
	w.observe(w.pods["b"])
	w.run(1900 * time.Millisecond)
	_, found := w.runtime.Pod(w.now, "a")
	assert.True(t, found, "it has at least 2 s from its signal")
	w.run(200 * time.Millisecond)
	_, found = w.runtime.Pod(w.now, "a")
	assert.False(t, found)
	state, _ := w.runtime.Pod(w.now, "b")
	assert.True(t, state.Running())
	assert.Len(t, w.log, written, "nothing is written of a pod that the API server does not have")
	w.run(time.Minute)
	assert.Len(t, w.fleet.pods, 1)
}

func TestOrphansEndOnlyWhenAllPodsAreKnown(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	w.restart("node")
	w.fleet.synced = false
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
	w.observe(w.pods["a"])
	w.fleet.MarkSynced(w.now)
	w.run(time.Minute)
	state, _ = w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running(), "it was observed before")

	w.restart("node")
	w.fleet.synced = false
	w.run(time.Second)
	w.fleet.MarkSynced(w.now)
	next, ok := w.fleet.Next(w.now)
	assert.True(t, ok && !next.After(w.now), "the search is due at once")
	w.run(time.Minute)
	_, found := w.runtime.Pod(w.now, "a")
	assert.False(t, found)
}

// Pods that come later are sorted in by their age.
func TestOrphansKeepThePodsOfTheirNodeInOrder(t *testing.T) {
	w := newWorld(t, "node")
	aged := func(name string, minutes int) {
		w.pod(name, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute))
		}, "stop-time", "forever")
	}
	for i := range 3 {
		aged(fmt.Sprint("orphan-", i), 0)
	}
	aged("a", 2)
	w.run(time.Second)
	orphans := w.pods
	w.pods = map[types.UID]*corev1.Pod{"a": orphans["a"]}
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(100 * time.Millisecond)
	aged("c", 3)
	aged("b", 1)
	pods := w.fleet.nodes["node"].pods
	require.Len(t, pods, 6)
	assert.True(t, slices.IsSortedFunc(pods, func(a, b *podRecord) int {
		return a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time)
	}))
}

func TestAnOrphanWithAPlanUnderWayEndsToo(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s")
	w.run(time.Second)
	delete(w.pods, "a")
	w.restart("node")
	w.run(time.Minute)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, w.fleet.pods)
	assert.Zero(t, w.due())
}

func TestAKubeletThatRestartsRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node", "other")
	w.pod("a", nil, "mount-time", "5s", "unmount-time", "7s")
	w.pod("b", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(20 * time.Second)
	before, _ := w.runtime.Pod(w.now, "a")
	written := len(w.log)
	w.fleet.RestartNode(w.now, "node")
	w.run(10 * time.Minute)
	after, _ := w.runtime.Pod(w.now, "a")
	assert.Equal(t, before, after)
	assert.Len(t, w.log, written, "the API server has all of it: %v", w.log[written:])
	w.delete("a", 30)
	w.run(7*time.Second - 1)
	assert.Contains(t, w.pods, types.UID("a"), "its volumes are known")
	w.run(time.Minute)
	assert.NotContains(t, w.pods, types.UID("a"))
	w.fleet.RestartNode(w.now, "unknown")
	w.fleet.RebootNode(w.now, "unknown")
	assert.NotContains(t, w.fleet.nodes, "unknown")
}

func TestAProcessThatStartsAgainRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("runs", nil)
	w.pod("crashes", nil, "run-time", "2s", "exit-code", "1")
	w.pod("ended", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.pod("ends", nil, "stop-time", "10s")
	w.run(3 * time.Second) // the second run of crashes has begun at 2 s
	w.delete("ends", 30)
	w.run(500 * time.Millisecond)
	written := len(w.log)
	before := w.status("crashes").ContainerStatuses[0]
	w.endProcess("node")
	w.run(400 * time.Millisecond)
	assert.Len(t, w.log, written, "the API server has all of it: %v", w.log[written:])
	assert.Equal(t, before, w.status("crashes").ContainerStatuses[0])
	w.run(100 * time.Millisecond)
	assert.Contains(t, w.statuses("crashes"), "PatchStatus Running ready c:running/2", "its run ends at its time")
	w.run(time.Minute)
	assert.Equal(t, corev1.PodSucceeded, w.status("ended").Phase)
	assert.Zero(t, w.status("runs").ContainerStatuses[0].RestartCount)
	assert.NotContains(t, w.names(), types.UID("ends"))
}

// Such a pod has not been visited yet when it is forgotten.
func TestAPodThatIsForgottenRightAfterAStartEndsWithItsContainers(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.pod("pulls", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other" }, "pull-time", "1h")
	w.run(time.Second)
	w.restart("node")
	for _, name := range w.names() {
		w.observe(w.pods[name])
		delete(w.pods, name)
		w.fleet.ForgetPod(w.now, name)
	}
	w.run(2 * time.Hour)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, w.fleet.pods)
}

// The result of a write that a former life of the kubelet began changes nothing
// of the present one.
func TestAWriteOfAFormerLifeIsNotTheNewOnes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s")
	task, ok := w.fleet.Start(w.now)
	require.True(t, ok)
	w.fleet.RestartNode(w.now, "node")
	_, ok = w.fleet.Start(w.now)
	assert.False(t, ok, "one write of a pod is on its way at a time")
	w.fleet.Finish(w.now, task, ResultDone)
	w.run(time.Minute)
	assert.Contains(t, w.log[len(w.log)-1], "Running ready c:running")
}

func TestAPodThatHasGoneDuringARestartIsAnOrphan(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	delete(w.pods, "a")
	w.fleet.ForgetPod(w.now, "a")
	w.fleet.RestartNode(w.now, "node")
	w.run(3 * time.Second)
	assert.Empty(t, w.runtime.Pods(w.now, "node"), "it has 2 s, not its 30 s")
}

// readiness makes a pod with a slow readiness probe.
func readiness(p *corev1.Pod) {
	p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 60, FailureThreshold: 1}
}

func TestAReadyPodStaysReadyUntilItsFirstProbeAfterARestart(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration // of the containers at the restart
		unready bool          // in the API
		want    bool
	}{
		"kept":                     {age: 11 * time.Second, want: true},
		"not ready before":         {age: 11 * time.Second, unready: true},
		"started just before":      {age: 9 * time.Second},
		"started at the margin":    {age: 10 * time.Second},
		"started after the margin": {age: 10*time.Second + 1, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "node")
			w.pod("a", readiness)
			w.run(test.age)
			w.restart("node")
			w.fleet.config.Rand = func() float64 { return 0.5 } // the first probe comes after 30 s
			pod := w.pods["a"]
			require.Contains(t, describeStatus(&pod.Status), "ready")
			if test.unready {
				pod = pod.DeepCopy()
				findCondition(&pod.Status, corev1.PodReady).Status = corev1.ConditionFalse
			}
			w.observe(pod)
			if test.age <= restartMargin {
				w.runtime.deaf = true // it fails its first probe, which comes at once
			}
			w.run(29 * time.Second)
			assert.Equal(t, test.want, w.status("a").ContainerStatuses[0].Ready, "%v", w.log)
			w.runtime.deaf = true
			w.run(2 * time.Minute)
			assert.False(t, w.status("a").ContainerStatuses[0].Ready, "the probe has said otherwise")
		})
	}
}

func TestAContainerThatHadStartedIsNotAskedAgain(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 1}
		p.Spec.InitContainers = []corev1.Container{container("s", func(c *corev1.Container) {
			c.RestartPolicy = &always
			c.StartupProbe = &corev1.Probe{PeriodSeconds: 1}
		})}
	})
	w.run(20 * time.Second)
	written := len(w.log)
	before, _ := w.runtime.Pod(w.now, "a")
	w.runtime.deaf = true
	w.fleet.RestartNode(w.now, "node")
	w.run(10 * time.Minute)
	after, _ := w.runtime.Pod(w.now, "a")
	assert.Equal(t, before, after)
	assert.Len(t, w.log, written)
}

func TestAPodThatEndsStaysReadyWhenItsKubeletRestarts(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", readiness, "stop-time", "20s")
	w.run(20 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	w.runtime.deaf = true
	w.fleet.config.Rand = nil
	w.fleet.RestartNode(w.now, "node")
	w.run(5 * time.Second)
	assert.True(t, w.status("a").ContainerStatuses[0].Ready, "%v", w.log)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
	assert.Zero(t, w.due())
}

func TestARebootRestartsByPolicyAndCounts(t *testing.T) {
	w := newWorld(t, "node", "other")
	w.pod("a", nil, "mount-time", "2s")
	w.pod("never", func(p *corev1.Pod) { p.Spec.RestartPolicy = never })
	w.pod("done", func(p *corev1.Pod) { p.Spec.RestartPolicy = onFailure }, "run-time", "1s")
	w.pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "other" })
	w.run(20 * time.Second)
	for i := range 3 {
		before, _ := w.runtime.Pod(w.now, "a")
		w.fleet.RebootNode(w.now, "node")
		w.run(time.Minute)
		s := w.status("a").ContainerStatuses[0]
		require.EqualValues(t, i+1, s.RestartCount, "%v", w.statuses("a"))
		require.NotNil(t, s.State.Running)
		require.EqualValues(t, 255, s.LastTerminationState.Terminated.ExitCode)
		require.Equal(t, "Unknown", s.LastTerminationState.Terminated.Reason)
		after, _ := w.runtime.Pod(w.now, "a")
		assert.NotEqual(t, before.Sandboxes[0].ID, after.Sandboxes[0].ID)
		assert.Equal(t, before.Sandboxes[0].Attempt+1, after.Sandboxes[0].Attempt)
		assert.Equal(t, after.Sandboxes[0].IP, w.status("a").PodIP)
	}
	assert.Equal(t, corev1.PodFailed, w.status("never").Phase)
	assert.EqualValues(t, 255, w.status("never").ContainerStatuses[0].State.Terminated.ExitCode)
	assert.Equal(t, corev1.PodSucceeded, w.status("done").Phase)
	assert.Zero(t, w.status("elsewhere").ContainerStatuses[0].RestartCount)
}

func TestANodeThatIsForgottenLeavesNothing(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.pod("b", readiness, "pull-time", "10s")
	w.run(time.Second)
	w.refuse = func(Task) bool { return true }
	w.pod("unwritten", nil)
	w.run(0)
	written := len(w.log)
	w.fleet.ForgetNode(w.now, "node")
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	w.run(time.Hour)
	assert.Len(t, w.log, written, "nothing is written of its pods")
	w.fleet.ForgetPod(w.now, "a")
	w.fleet.ForgetPod(w.now, "b")
	w.fleet.ForgetPod(w.now, "unwritten")
	w.run(time.Minute)
	assert.Empty(t, w.fleet.pods)
	assert.Empty(t, w.fleet.nodes)
	assert.Zero(t, w.due())
	w.fleet.ForgetNode(w.now, "node")
	assert.Empty(t, w.fleet.nodes)
}

func TestPodsOfAForgottenNodeStartOnOneOfItsName(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	w.fleet.ForgetNode(w.now, "node")
	w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
}

// A turn of a node with many pods visits a thousand of them, and the oldest
// come first.
func TestANodesPodsAreVisitedInTurnsAndByAge(t *testing.T) {
	w := newWorld(t)
	const pods = 5000
	for i := range pods {
		w.pod(fmt.Sprint("pod-", i), func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(start.Add(-time.Duration(i) * time.Second))
		})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	w.fleet.ObserveNode(w.now, node)
	visited := func() (n int) {
		for _, r := range w.fleet.pods {
			if r.state != workerNew {
				n++
			}
		}
		return n
	}
	assert.Zero(t, visited(), "the observation itself visits none")
	last := 0
	for last < pods {
		if task, ok := w.fleet.Start(w.now); ok {
			w.perform(task)
		}
		n := visited()
		require.LessOrEqual(t, n-last, stepsATurn)
		require.GreaterOrEqual(t, n, last)
		last = n
	}
	for i := range pods {
		uid := types.UID(fmt.Sprint("pod-", i))
		assert.Equal(t, i >= pods-10, w.fleet.pods[uid].counted != nil, "the oldest are taken: %s", uid)
	}
}

func TestAPodThatComesDuringARoundIsVisitedOnce(t *testing.T) {
	for _, age := range []time.Duration{0, time.Hour} {
		w := newWorld(t)
		for i := range 3 {
			w.pod(fmt.Sprint("pod-", i), func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(-time.Minute)) })
		}
		w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
		n := w.fleet.nodes["node"]
		w.fleet.proceedRound(w.now, n)
		w.fleet.proceedRound(w.now, n)
		w.pod("late", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(-age)) })
		w.run(time.Second)
		assert.Equal(t, noRound, n.visited)
		assert.EqualValues(t, 4, n.used.pods)
		for uid := range w.pods {
			assert.Contains(t, describeStatus(w.status(uid)), "Running ready")
		}
	}
}
