package kubelet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
	pods := w.fleet.nodes["node"].syncLoop.pods
	require.Len(t, pods, 6)
	assert.True(t, slices.IsSortedFunc(pods, func(a, b *podWorker) int {
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

func TestAPodThatHasGoneDuringARestartIsAnOrphan(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	delete(w.pods, "a")
	w.fleet.ForgetPod(w.now, "a")
	w.restartKubelet("node")
	w.run(3 * time.Second)
	assert.Empty(t, w.runtime.Pods(w.now, "node"), "it has 2 s, not its 30 s")
}
