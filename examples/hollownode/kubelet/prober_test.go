package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// The first cases are those of prober/worker_test.go, v1.37.1:
// FailureThreshold, SuccessThreshold, StartupProbeSuccessThreshold and
// StartupProbeFailureThreshold.
func TestAProbeDecidesAsForTheKubelet(t *testing.T) {
	type thresholdCase struct {
		kind             cri.ProbeKind
		success, failure int32
		answers, want    string // y is a success, n a failure, and - no decision
		held             bool
	}
	for _, c := range []thresholdCase{
		{cri.ProbeReadiness, 1, 3, "yyynnnnnyyynnnnn", "yyyyynnnyyyyynnn", false},
		{cri.ProbeReadiness, 3, 1, "yyyyynyyyyyn", "nnyyynnnyyyn", false},
		{cri.ProbeStartup, 1, 3, "y", "y", true},
		{cri.ProbeStartup, 1, 3, "nnn", "--n", true},
		// Liveness waits for the next run of its container. Zero is the default of
		// the API.
		{cri.ProbeReadiness, 2, 3, "yynnynnn", "nyyyyyyn", false},
		{cri.ProbeLiveness, 1, 3, "nnn", "yyn", true},
		{cri.ProbeStartup, 0, 0, "y", "y", true},
	} {
		p, got := newProbe(c.kind), ""
		for _, answer := range c.answers {
			assert.False(t, p.held, "%+v", c)
			before := p.result
			changed := p.observe(
				c.kind, &corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.failure}, answer == 'y')
			assert.Equal(t, p.result != before, changed, "%+v", c)
			got += map[ProbeResult]string{ProbeSuccess: "y", ProbeFailure: "n", ProbeUnknown: "-"}[p.result]
		}
		assert.Equal(t, c.want, got, "%+v", c)
		assert.Equal(t, c.held, p.held, "%+v", c)
	}
}

func TestProbesBeginWhileAnotherContainerIsPulled(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
		p.Spec.Containers = append(p.Spec.Containers, container("d", func(c *corev1.Container) { c.Image = "other" }))
	}, "d:pull-time", "1m")
	w.run(10 * time.Second)
	assert.True(t, w.status("a").ContainerStatuses[0].Ready, "%v", w.log)
}

func TestProbesMakeReadyAndRestart(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.config.Rand = nil
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, InitialDelaySeconds: 2}
		p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 2, FailureThreshold: 3}
	}, "ready-time", "4s", "live-time", "7s", "stop-time", "1s", "stop-code", "143")
	w.run(15 * time.Second)
	assert.Equal(t, []string{
		"0s PatchStatus a Running c:running",
		"4s PatchStatus a Running ready c:running",
		// Liveness fails at 8, 10 and 12 s. The first restart is at once.
		"13s PatchStatus a Running c:running/1",
	}, w.log)
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
	w.restartKubelet("node")
	w.run(10 * time.Minute)
	after, _ := w.runtime.Pod(w.now, "a")
	assert.Equal(t, before, after)
	assert.Len(t, w.log, written)
}
