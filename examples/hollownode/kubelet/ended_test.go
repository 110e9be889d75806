package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// Another client has made the phase final, so the phase alone does not tell
// whether the last status was written.
func TestAFinalPhaseOfAnotherClientGetsItsEndsAfterARestart(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-code", "3")
	w.run(5 * time.Second)
	w.refuse = func(Task) bool { return true }
	failed := w.pods["a"].DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	w.observe(failed)
	w.run(time.Minute)
	assert.NotNil(t, w.status("a").ContainerStatuses[0].State.Running, "its end was not written")

	w.refuse = nil
	w.restart("node")
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, "Failed c:exited=3", describeStatus(w.status("a")))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

func TestAPodThatHasEndedDoesNotRunAgainWhenItsLastStatusIsLost(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.RestartPolicy = never }, "run-time", "5s")
	w.run(time.Second)
	w.refuse = func(Task) bool { return true }
	w.run(time.Minute)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))

	w.refuse = nil
	w.fleet.RestartNode(w.now, "node")
	w.run(time.Minute)
	assert.Equal(t, "Succeeded c:exited=0", describeStatus(w.status("a")))
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}
