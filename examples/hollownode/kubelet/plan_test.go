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

// TestDoBackOff of kuberuntime_manager_test.go, v1.37.1.
func TestAContainerBacksOffAsForTheKubelet(t *testing.T) {
	ended := exited("c1", 1)
	ended.FinishedAt = start
	type crashCase struct {
		name      string
		container cri.Container
		crashed   bool // before
		want      bool
	}
	for _, c := range []crashCase{
		{"it runs", running("c1"), false, false},
		{"its first crash", ended, false, false},
		{"another crash", ended, true, true},
	} {
		v := baseView()
		v.Observed.Containers = []cri.Container{c.container}
		spec, waiting := &v.Pod.Spec.Containers[0], backOffs{}
		if c.crashed {
			waiting.count(start, crashKey(spec), start)
		}
		assert.Equal(t, c.want, v.crashed(start, spec, &waiting).After(start), c.name)
	}
}

// The API may not show it yet, and no run is given the ID of a former one.
func TestARunThatOnlyTheLastStatusHasStillCounts(t *testing.T) {
	v := baseView()
	v.Observed.Containers = nil
	assert.Zero(t, v.attempts("c1"))
	v.last = &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "c1", ContainerID: "c1-2", RestartCount: 2,
	}}}
	assert.EqualValues(t, 3, v.attempts("c1"))
}
