package kubelet

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A silent node goes on as it was. It does what was wanted when it is back.
func TestASilentNodeNeitherHearsNorWrites(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("stays", nil)
	w.pod("ends", nil)
	w.pod("crashes", nil)
	w.run(5 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	w.pod("new", nil)
	w.pod("brief", nil)
	delete(w.pods, "brief")
	w.fleet.ForgetPod(w.now, "brief")
	w.delete("ends", 30)
	w.runtime.Crash(w.now, "crashes", "c", 1)
	stays := w.pods["stays"].DeepCopy()
	findCondition(&stays.Status, corev1.PodReady).Status = corev1.ConditionFalse
	w.observe(stays) // the node lifecycle controller's doing
	written := len(w.log)
	w.run(time.Minute)
	assert.Len(t, w.log, written)
	assert.Equal(t, map[string]int{"silent": 1, "running": 0, "failing": 0, "stopped": 0}, w.fleet.NodeStates())
	state, _ := w.runtime.Pod(w.now, "ends")
	assert.True(t, state.Running())
	state, _ = w.runtime.Pod(w.now, "crashes")
	assert.Len(t, state.Containers, 2, "a kubelet restarts containers without the API server")
	for _, name := range []types.UID{"new", "brief"} {
		_, found := w.runtime.Pod(w.now, name)
		assert.False(t, found, "%s has not been heard of", name)
	}

	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(10 * time.Second)
	for _, name := range []types.UID{"stays", "new", "crashes"} {
		assert.Contains(t, describeStatus(w.status(name)), "Running ready", name)
	}
	assert.Contains(t, describeStatus(w.status("crashes")), "c:running/1")
	assert.NotContains(t, w.pods, types.UID("ends"))
	_, found := w.runtime.Pod(w.now, "brief")
	assert.False(t, found, "it has never been heard of")
	w.run(time.Minute)
	assert.Len(t, w.fleet.pods, 3)
}

// What it restored before its heartbeat, the controller would overwrite again.
func TestNodesThatReturnRestoreStatusesAfterTheirHeartbeats(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, strconv.Itoa(i))
	}
	w := newWorld(t, names...)
	for _, name := range names {
		w.pod(name, func(p *corev1.Pod) { p.Spec.NodeName = name })
	}
	w.run(15 * time.Second)
	for _, name := range names {
		w.fleet.SetFaults(w.now, name, Faults{Silent: true})
		w.overwrite(types.UID(name), "")
	}
	w.run(time.Minute)
	written := len(w.log)
	for _, name := range names {
		w.fleet.SetFaults(w.now, name, Faults{})
	}
	w.run(returnPause - 1)
	assert.Len(t, w.log, written, "the heartbeats have not arrived")
	w.run(1 + reconcilePeriod/4)
	assert.InDelta(t, written+len(names)/2, len(w.log), 20, "not all at once")
	w.run(reconcilePeriod / 4)
	assert.Len(t, w.log, written+len(names))
	w.run(time.Minute)
	assert.Len(t, w.log, written+len(names), "once")
}

// A check finds the runtime up to 5 s after the return, and the loop goes on up
// to 5 s after that. Comparisons that were due by then have found nothing.
func TestNodesThatReturnWithTheirRuntimeRestoreStatusesInTime(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, strconv.Itoa(i))
	}
	for outage := time.Minute; outage < time.Minute+5*time.Second; outage += 500 * time.Millisecond {
		w := newWorld(t, names...)
		for _, name := range names {
			w.pod(name, func(p *corev1.Pod) { p.Spec.NodeName = name })
		}
		w.run(15 * time.Second)
		for _, name := range names {
			w.fleet.SetFaults(w.now, name, Faults{Silent: true, RuntimeDown: true})
			w.overwrite(types.UID(name), "")
		}
		w.run(outage)
		written := len(w.log)
		for _, name := range names {
			w.fleet.SetFaults(w.now, name, Faults{})
		}
		w.run(reconcilePeriod + time.Second)
		assert.Len(t, w.log, written+len(names), outage)
	}
}

func TestASilentKubeletThatRestartsLeavesItsPodsAlone(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.pod("gone", nil)
	w.run(20 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	delete(w.pods, "gone")
	w.fleet.ForgetPod(w.now, "gone")
	w.restartKubelet("node")
	w.run(time.Minute)
	for _, name := range []types.UID{"a", "gone"} {
		state, _ := w.runtime.Pod(w.now, name)
		assert.True(t, state.Running(), "it has no list of pods to compare with")
	}
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Minute)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
	_, found := w.runtime.Pod(w.now, "gone")
	assert.False(t, found)
}

func TestAnUpdateThatWaitedDoesNotReplaceANewerOne(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "1s")
	w.run(2 * time.Second) // no more status follows, whose echo would show it
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	old := w.pods["a"].DeepCopy()
	old.Labels = map[string]string{"new": "label"}
	w.observe(old)
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.delete("a", 0)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
}

func TestAWriteThatFailedIsNotTriedAgainInSilence(t *testing.T) {
	w := newWorld(t, "node")
	refused := 0
	w.refuse = func(Task) bool { refused++; return true }
	w.pod("a", nil)
	w.run(2 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{Silent: true})
	before := refused
	w.run(time.Hour)
	assert.Equal(t, before, refused)
	w.refuse = nil
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Second)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
}
