package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestKillContainerGracePeriod of kuberuntime_container_test.go, v1.37.1. Zero
// seconds of a probe are none.
func TestAContainerThatIsStoppedHasTheGraceOfTheKubelet(t *testing.T) {
	const other = KillChanged // neither probe
	type graceCase struct {
		pod, startup, liveness int64
		reason                 KillReason
		want                   int64
	}
	for _, c := range []graceCase{
		{0, 0, 0, other, 2},
		{60, 0, 0, other, 60},
		{60, 0, 10, KillLiveness, 10},
		{60, 10, 0, KillStartup, 10},
		{10, 60, 0, KillStartup, 60},
		{10, 0, 60, KillLiveness, 60},
		{60, 0, 10, other, 60},
		{60, 10, 0, other, 60},
		{60, 10, 30, other, 60},
		{60, 10, 30, KillStartup, 10},
		{60, 10, 30, KillLiveness, 30},
	} {
		pod := baseView().Pod
		spec := &pod.Spec.Containers[0]
		if c.pod > 0 {
			pod.Spec.TerminationGracePeriodSeconds = &c.pod
		}
		if c.startup > 0 {
			spec.StartupProbe = &corev1.Probe{TerminationGracePeriodSeconds: &c.startup}
		}
		if c.liveness > 0 {
			spec.LivenessProbe = &corev1.Probe{TerminationGracePeriodSeconds: &c.liveness}
		}
		assert.Equal(t, time.Duration(c.want)*time.Second, containerGrace(pod, spec, c.reason), "%+v", c)
	}
}

func TestADeletionsGracePeriodComesBeforeAProbes(t *testing.T) {
	pod := baseView().Pod
	c := &pod.Spec.Containers[0]
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	c.LivenessProbe = &corev1.Probe{TerminationGracePeriodSeconds: ptr.To[int64](7)}
	assert.Equal(t, 7*time.Second, containerGrace(pod, c, KillLiveness))
	pod.DeletionGracePeriodSeconds = ptr.To[int64](3)
	assert.Equal(t, 3*time.Second, containerGrace(pod, c, KillLiveness))
}

// The cases of Test_calculateEffectiveGracePeriod of v1.37.1, and the
// shrinking.
func TestAPodsGracePeriodOnlyShrinks(t *testing.T) {
	for _, test := range []struct {
		current                  int64
		spec, deletion, override *int64
		want                     int64
	}{
		{0, ptr.To[int64](30), nil, nil, 30},
		{0, ptr.To[int64](30), ptr.To[int64](5), nil, 5},
		{0, ptr.To[int64](30), ptr.To[int64](5), ptr.To[int64](2), 2},
		{0, ptr.To[int64](30), ptr.To[int64](0), nil, 1},
		{0, ptr.To[int64](30), ptr.To[int64](5), ptr.To[int64](0), 1},
		{10, ptr.To[int64](30), ptr.To[int64](20), nil, 10},
		{10, ptr.To[int64](30), nil, ptr.To[int64](3), 3},
		{10, ptr.To[int64](30), nil, nil, 10},
		{0, nil, nil, nil, 1},
	} {
		pod := baseView().Pod
		pod.Spec.TerminationGracePeriodSeconds, pod.DeletionGracePeriodSeconds = test.spec, test.deletion
		assert.Equal(t, test.want, effectiveGrace(test.current, pod, test.override), "%+v", test)
	}
}

// The facts of kuberuntime_termination_order_test.go of v1.37.1.
func TestSidecarsStopAfterTheMainContainersInReverse(t *testing.T) {
	v := sidecarView()
	v.Observed.Containers = append(v.Observed.Containers, running("c1"), exited("c2", 0), running("c3"))
	second := running("unnamed")
	second.ID = "second"
	v.Observed.Containers = append(v.Observed.Containers, running("unnamed"), second)
	after := map[string][]string{}
	assert.Len(t, stopAll(v.Pod, v.Observed, 0), 7)
	for _, s := range stopAll(v.Pod, v.Observed, time.Minute) {
		assert.Equal(t, time.Minute, s.Grace)
		after[s.ID] = s.After
	}
	assert.Equal(t, map[string][]string{
		"c1-id": nil, "c3-id": nil, "unnamed-id": nil, "second": nil,
		"i3-id": {"unnamed-id", "second", "c1-id", "c3-id"},
		"i2-id": {"unnamed-id", "second", "c1-id", "c3-id", "i3-id"},
		"i1-id": {"unnamed-id", "second", "c1-id", "c3-id", "i2-id"},
	}, after)
}

func TestAPodThatIsGoneIsStoppedAndNotWritten(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "5s")
	w.run(time.Second)
	before := len(w.log)
	w.fleet.ForgetPod(w.now, "a")
	w.run(4 * time.Second)
	state, found := w.runtime.Pod(w.now, "a")
	require.True(t, found && state.Running(), "it has its grace period")
	w.run(time.Minute)
	assert.Len(t, w.log, before)
	_, found = w.runtime.Pod(w.now, "a")
	assert.False(t, found)
	assert.Zero(t, w.due())
}

func TestNothingIsRemovedBeforeAllPodsAreKnown(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.synced = false
	w.pod("a", nil)
	w.run(time.Second)
	w.fleet.ForgetPod(w.now, "a")
	w.run(time.Minute)
	state, _ := w.runtime.Pod(w.now, "a")
	assert.True(t, state.Running())
	w.fleet.MarkSynced(w.now)
	w.run(time.Minute)
	assert.Empty(t, w.fleet.pods)
}

// The runtime goes on with its sync, as the kubelet's does. All its containers
// start, and stop then.
func TestAPodThatIsDeletedDuringItsPullStartsFirst(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, container("d", nil)) },
		"pull-time", "10s", "start-time", "5s")
	w.run(5 * time.Second)
	w.delete("a", 30)
	w.run(14 * time.Second)
	assert.Equal(t, 1, w.runtime.started, "d takes 5 s more")
	w.run(time.Minute)
	assert.Equal(t, 2, w.runtime.started)
	assert.Empty(t, w.pods)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

// A shorter grace period cancels a stop, and nothing that starts the pod.
func TestAShorterGracePeriodEndsNoPull(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s", "stop-time", "forever")
	w.run(5 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	w.delete("a", 7)
	w.run(time.Minute)
	assert.Equal(t, 1, w.runtime.started)
	assert.Contains(t, w.log, "17s DeletePod a")
}

func TestAShorterGracePeriodEndsAPodSooner(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	w.delete("a", 30)
	w.run(2 * time.Second)
	w.delete("a", 5)
	w.run(2 * time.Second)
	w.delete("a", 20)
	w.run(time.Minute)
	assert.Contains(t, w.log, "8s PatchStatus a Failed c:exited=137")
	assert.Contains(t, w.log, "8s DeletePod a")
}

func TestAnUpdateThatShortensNothingCancelsNothing(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "stop-time", "forever")
	w.run(time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	cancels := w.runtime.cancels
	w.delete("a", 40)
	assert.Equal(t, cancels, w.runtime.cancels)
	w.delete("a", 20)
	assert.Equal(t, cancels+1, w.runtime.cancels)
}

func TestAStopThatFailsIsTriedAgainLater(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", nil)
	w.run(time.Second)
	w.runtime.stopFailures = 1
	w.delete("a", 30)
	w.run(time.Minute)
	assert.Contains(t, w.log, "11s DeletePod a")
}

func TestAnEndIsNotDelayedByAFailureBeforeIt(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "1s", "pull-failures", "all")
	w.run(time.Second - 1)
	w.now = start.Add(time.Second)
	w.runtime.Pod(w.now, "a") // the pull fails now, and the fleet does not know yet
	w.delete("a", 30)
	w.run(0)
	assert.Empty(t, w.pods)
}

func TestAPodEndsAtItsDeadlineWithoutAChange(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](30) }, "stop-time", "2s")
	w.run(time.Hour)
	assert.Equal(t, []string{
		"0s PatchStatus a Running ready c:running",
		"30s PatchStatus a Running c:running", "32s PatchStatus a Failed DeadlineExceeded c:exited=0",
	}, w.log)
}

func TestATimeToEndOnlyGetsShorter(t *testing.T) {
	w := newPodWorker(newKubelet(nil, start, "node"), &corev1.Pod{})
	w.termination.grace = 30
	for _, test := range []struct {
		wanted, grace int64
		shorter       bool
	}{{40, 30, false}, {30, 30, false}, {7, 7, true}, {10, 7, false}, {0, 1, true}} {
		w.pod.DeletionGracePeriodSeconds = &test.wanted
		assert.Equal(t, test.shorter, w.termination.shorten(), test.wanted)
		assert.Equal(t, test.grace, w.termination.grace, test.wanted)
	}
}
