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

// Each of the five inputs of the loop makes it sync a pod that had settled.
func TestEachInputOfTheLoopSyncsAPod(t *testing.T) {
	readiness := func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
	}
	for input, test := range map[string]struct {
		happens func(w *world)
		shows   string
	}{
		"configuration": {func(w *world) {
			pod := w.pods["a"].DeepCopy()
			pod.Spec.Containers[0].Image = "newer"
			pod.Generation++
			w.observe(pod)
		}, "Running ready c:running/1"},
		"PLEG": {func(w *world) { w.runtime.Crash(w.now, "a", "c", 3) }, "Running ready c:running/1"},
		"sync tick": {func(w *world) {
			w.pods["a"].Spec.ActiveDeadlineSeconds = ptr.To(int64(30))
			w.fleet.pods["a"].requestSync(w.now)
		}, "Failed DeadlineExceeded"},
		"probes":       {func(w *world) { w.runtime.deaf = true }, "Running c:running"},
		"housekeeping": {func(w *world) { w.reboot("node") }, "Running ready c:running/1"},
	} {
		t.Run(input, func(t *testing.T) {
			w := newWorld(t, "node")
			w.pod("a", readiness, "exit-code", "3")
			w.run(5 * time.Second)
			require.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
			test.happens(w)
			w.run(time.Minute)
			assert.Contains(t, describeStatus(w.status("a")), test.shows)
		})
	}
}

// A loop that has stopped does nothing that needs the runtime, and catches up.
func TestAStoppedLoopSyncsNothing(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(5 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.run(time.Minute)
	worker := w.fleet.pods["a"]
	k := worker.node
	require.Equal(t, loopStopped, k.runtime.loop)
	worker.again = false
	for _, kind := range []dueKind{dueSync, dueDeadline, dueVolumes} {
		k.syncLoop.perform(w.now, dueItem{Key: dueKey{pod: "a", kind: kind}, Value: worker})
		assert.True(t, worker.again, kind)
		assert.Equal(t, activityIdle, worker.doing, kind)
		worker.again = false
	}
}

func TestPodsOfALoopAreInTheOrderOfTheirCreation(t *testing.T) {
	w := newWorld(t, "node")
	l := &w.fleet.nodes["node"].syncLoop
	for i, age := range []int{3, 1, 2, 1} {
		pod := orphan(l.node, types.UID(rune('a'+i)))
		pod.CreationTimestamp.Time = start.Add(-time.Duration(age) * time.Hour)
		l.place(newPodWorker(l.node, pod))
	}
	require.Len(t, l.pods, 4)
	for i := range l.pods[1:] {
		assert.False(t, l.pods[i+1].pod.CreationTimestamp.Time.Before(l.pods[i].pod.CreationTimestamp.Time))
	}
}
