package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A spec that changes has another generation. Without one it is compared.
func TestSpecsOfOneGenerationAreTheSame(t *testing.T) {
	pod := func(generation, deadline int64) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Spec:       corev1.PodSpec{ActiveDeadlineSeconds: &deadline},
		}
	}
	assert.True(t, sameSpec(pod(0, 1), pod(0, 1)))
	assert.False(t, sameSpec(pod(0, 1), pod(0, 2)))
	assert.True(t, sameSpec(pod(1, 1), pod(2, 1)), "a deletion changes the generation, too")
	assert.False(t, sameSpec(pod(1, 1), pod(2, 2)))
	assert.True(t, sameSpec(pod(1, 1), pod(1, 1)))
}

func TestTheLatestUpdateWins(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "5s")
	w.run(time.Second)
	for _, image := range []string{"second", "third"} {
		pod := w.pods["a"].DeepCopy()
		pod.Spec.Containers[0].Image = image
		w.observe(pod)
	}
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	var images []string
	for _, c := range state.Containers {
		images = append(images, c.Image)
	}
	assert.Equal(t, []string{"third", "image"}, images)
}

func TestAnUpdateDuringASyncThatFailsIsSyncedAtOnce(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil, "sandbox-time", "2s", "sandbox-failures", "1")
	w.run(time.Second)
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"new": "label"}
	w.observe(pod)
	w.run(time.Minute)
	assert.Contains(t, w.log, "4s PatchStatus a Running ready c:running", "not after 10 s: %v", w.log)
}

// An API server that is behind another one can hide a pod from a process that
// starts.
func TestAPodThatComesBackRunsAgain(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil, "stop-time", "10s")
	w.run(time.Second)
	w.restart("node")
	w.run(time.Second)
	w.observe(pod)
	w.run(time.Minute)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
	w.delete("a", 1)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

func TestAPodThatComesBackAndGoesEnds(t *testing.T) {
	w := newWorld(t, "node")
	pod := w.pod("a", nil)
	w.run(time.Second)
	w.restart("node")
	w.run(time.Second)
	w.observe(pod)
	w.drop("a")
	w.run(time.Minute)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, w.fleet.pods)
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
