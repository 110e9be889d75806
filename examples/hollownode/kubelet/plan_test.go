package kubelet

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A container that exits after a second each time is restarted at once, then
// after 10, 20, 40, 80, 160 and 300 s.
func TestACrashLoopWaitsFrom10To300SecondsAfterTheExit(t *testing.T) {
	v := baseView()
	v.Pod.Spec.Containers = v.Pod.Spec.Containers[:1]
	waiting := backOffs{}
	now := start
	var got []time.Duration
	for range 9 {
		c := exited("c1", 1)
		c.FinishedAt = now
		v.Observed.Containers = []cri.Container{c}
		a := Decide(v)
		steps, waits := v.plan(now, &a, &waiting)
		if len(waits) > 0 {
			require.Empty(t, steps)
			assert.Equal(t, reasonCrashLoop, waits[0].Reason)
			got = append(got, waits[0].Until.Sub(now))
			steps, _ = v.plan(waits[0].Until.Add(-1), &a, &waiting)
			require.Empty(t, steps, "before its time")
			now = waits[0].Until
			steps, waits = v.plan(now, &a, &waiting)
			require.Empty(t, waits)
		} else {
			got = append(got, 0)
		}
		require.Len(t, steps, 1)
		assert.EqualValues(t, 1, steps[0].Attempt)
		now = now.Add(time.Second)
	}
	s := time.Second
	assert.Equal(t, []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s}, got)
	for age, want := range map[time.Duration]int{10 * time.Minute: 1, 10*time.Minute + 1: 0} {
		c := exited("c1", 1)
		c.FinishedAt = now.Add(age - time.Second)
		v.Observed.Containers = []cri.Container{c}
		copied := maps.Clone(waiting)
		a := Decide(v)
		_, waits := v.plan(c.FinishedAt, &a, &copied)
		assert.Len(t, waits, want, "it exits %s after the last restart", age)
	}
}

func TestAChangedContainerHasABackOffOfItsOwn(t *testing.T) {
	var waiting backOffs
	waiting.count(start, backOffKey{"a", "one"}, start)
	assert.Equal(t, 10*time.Second, waiting.wait(backOffKey{"a", "one"}, start))
	assert.Zero(t, waiting.wait(backOffKey{"a", "two"}, start))
}

func TestAnImageThatFailedIsNotPulledBeforeItsBackOffEnds(t *testing.T) {
	v := baseView()
	v.Observed.Containers = v.Observed.Containers[1:]
	var waiting backOffs
	waiting.count(start, backOffKey{image: "image"}, start)
	waiting.count(start, backOffKey{image: "image"}, start)
	for after, want := range map[time.Duration]bool{0: false, 20*time.Second - 1: false, 20 * time.Second: true} {
		now := start.Add(after)
		a := Decide(v)
		steps, _ := v.plan(now, &a, &waiting)
		require.Len(t, steps, 1)
		assert.Equal(t, want, steps[0].MayPull, "after %s", after)
	}
}

func TestAnInitContainerThatWaitsHoldsThoseAfterIt(t *testing.T) {
	for _, sidecar := range []bool{false, true} {
		v := sidecarView()
		for i := range v.Observed.Containers {
			v.Observed.Containers[i] = exited(v.Observed.Containers[i].Name, 1)
			v.Observed.Containers[i].FinishedAt = start
		}
		if !sidecar {
			v.Pod.Spec.InitContainers[2].RestartPolicy = nil
		}
		waiting := backOffs{}
		waiting.count(start, backOffKey{"i3", "image"}, start)
		a := Actions{Starts: []Start{
			{Container: "i3", Init: true, Sidecar: sidecar}, {Container: "c1"},
		}}
		steps, waits := v.plan(start, &a, &waiting)
		assert.Len(t, waits, 1)
		assert.Equal(t, sidecar, len(steps) == 1, "only a sidecar lets the next start")
	}
}

func describe(steps []cri.Step) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, strings.TrimSpace(fmt.Sprint(s.Kind, " ", s.Container, strings.Join(s.Remove, " "))))
	}
	return strings.Join(parts, ", ")
}

func TestStepsComeInTheKubeletsOrder(t *testing.T) {
	v := initView()
	notReady(v)
	v.Observed.Sandboxes[0].Attempt = 4
	v.Observed.Containers = append(v.Observed.Containers, running("c1"))
	a := Decide(v)
	steps, _ := v.plan(start, &a, &backOffs{})
	assert.Equal(t, "Stop, StopSandboxes, CreateSandbox, Remove i1-id i2-id i3-id, Start i1", describe(steps))
	assert.EqualValues(t, 5, steps[2].Attempt)
	assert.True(t, steps[4].Required)

	v = baseView()
	set(v, 0, cri.ProbeLiveness, ProbeFailure)
	past := func(id string) cri.Container { c := exited("c1", 0); c.ID = id; return c }
	v.Observed.Containers = append(v.Observed.Containers, past("second"), past("third"))
	a = Decide(v)
	steps, _ = v.plan(start, &a, &backOffs{})
	assert.Equal(t, "Stop, Remove third, Start c1", describe(steps), "two runs of a name are kept")
}

func TestARunThatTheRuntimeForgotStillCounts(t *testing.T) {
	v := baseView()
	v.Observed.Containers = nil
	v.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c1", ContainerID: "x", RestartCount: 6}}
	a := Decide(v)
	steps, _ := v.plan(start, &a, &backOffs{})
	assert.EqualValues(t, 7, steps[0].Attempt)
	assert.EqualValues(t, 0, steps[1].Attempt)
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

func TestAProbesGracePeriodComesFirst(t *testing.T) {
	pod := baseView().Pod
	c := &pod.Spec.Containers[0]
	assert.Equal(t, 2*time.Second, containerGrace(pod, c, KillChanged))
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	c.LivenessProbe = &corev1.Probe{TerminationGracePeriodSeconds: ptr.To[int64](7)}
	assert.Equal(t, 7*time.Second, containerGrace(pod, c, KillLiveness))
	assert.Equal(t, 30*time.Second, containerGrace(pod, c, KillStartup))
	assert.Equal(t, time.Duration(0), containerGrace(pod, c, KillReset))
	pod.DeletionGracePeriodSeconds = ptr.To[int64](3)
	assert.Equal(t, 3*time.Second, containerGrace(pod, c, KillLiveness))
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

func TestProbesDecideAtTheirThresholds(t *testing.T) {
	spec := &corev1.Probe{FailureThreshold: 3, SuccessThreshold: 2}
	p := newProbe(cri.ProbeReadiness)
	assert.Equal(t, ProbeFailure, p.result)
	var got []ProbeResult
	for _, ok := range []bool{true, true, false, false, true, false, false, false} {
		p.observe(cri.ProbeReadiness, spec, ok)
		got = append(got, p.result)
	}
	const s, f = ProbeSuccess, ProbeFailure
	assert.Equal(t, []ProbeResult{f, s, s, s, s, s, s, f}, got)
	assert.False(t, p.held, "readiness goes on")

	p = newProbe(cri.ProbeLiveness)
	assert.Equal(t, ProbeSuccess, p.result)
	assert.False(t, p.observe(cri.ProbeLiveness, spec, false))
	assert.False(t, p.observe(cri.ProbeLiveness, spec, false))
	assert.True(t, p.observe(cri.ProbeLiveness, spec, false))
	assert.True(t, p.held, "it waits for the next run of the container")

	p = newProbe(cri.ProbeStartup)
	assert.Equal(t, ProbeUnknown, p.result)
	assert.True(t, p.observe(cri.ProbeStartup, &corev1.Probe{}, true))
	assert.True(t, p.held)
}
