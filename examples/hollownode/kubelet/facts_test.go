package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
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

// TestActiveDeadlineHandler of active_deadline_test.go, v1.37.1. Zero seconds
// are no deadline.
func TestAPodIsPastItsDeadlineAsForTheKubelet(t *testing.T) {
	type deadlineCase struct {
		started         bool // a minute ago
		deadlineSeconds int64
		want            bool
	}
	for _, c := range []deadlineCase{
		{true, 30, true}, {true, 120, false}, {true, 0, false}, {false, 120, false}, {false, 0, false},
	} {
		pod, status := baseView().Pod, &corev1.PodStatus{}
		if c.started {
			status.StartTime = &metav1.Time{Time: start.Add(-time.Minute)}
		}
		if c.deadlineSeconds > 0 {
			pod.Spec.ActiveDeadlineSeconds = &c.deadlineSeconds
		}
		assert.Equal(t, c.want, pastDeadline(start, pod, status), "%+v", c)
	}
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

// readyCase is one of a condition. A letter is a container or a gate. With y it
// is ready or true, with n it is not, and of a dash nothing is known.
type readyCase struct {
	sidecars, mains, gates string
	phase                  corev1.PodPhase
	reason, message        string
}

const (
	runs   = corev1.PodRunning
	noGate = `corresponding condition of pod readiness gate "g%d" does not exist.`
	unmet  = `the status of pod readiness gate "g%d" is not "True", but False`
)

// build returns the pod and status of a case. Unless it is the first of its
// table, there is a list of statuses: it has one that the pod does not know.
func (c readyCase) build(first bool) (*corev1.Pod, *corev1.PodStatus) {
	pod, status := &corev1.Pod{}, &corev1.PodStatus{Phase: c.phase}
	if !first {
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: "of another pod"}}
	}
	add := func(to *[]corev1.ContainerStatus, name string, letter rune) {
		if letter != '-' {
			*to = append(*to, corev1.ContainerStatus{Name: name, Ready: letter == 'y'})
		}
	}
	for i, letter := range c.sidecars {
		name := fmt.Sprintf("s%d", i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		add(&status.InitContainerStatuses, name, letter)
	}
	for i, letter := range c.mains {
		name := fmt.Sprintf("c%d", i)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		add(&status.ContainerStatuses, name, letter)
	}
	for i, letter := range c.gates {
		gate := corev1.PodConditionType(fmt.Sprintf("g%d", i))
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		if letter != '-' {
			is := map[rune]corev1.ConditionStatus{'y': corev1.ConditionTrue, 'n': corev1.ConditionFalse}[letter]
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: gate, Status: is})
		}
	}
	return pod, status
}

// TestGenerateContainersReadyCondition of status/generate_test.go, v1.37.1.
func TestContainersAreReadyAsForTheKubelet(t *testing.T) {
	for i, c := range []readyCase{
		{"", "", "", runs, reasonUnknownContainers, ""},
		{"", "", "", runs, "", ""},
		{"", "-", "", runs, reasonContainersNotReady, "containers with unknown status: [c0]"},
		{"", "yy", "", runs, "", ""},
		{"", "y-", "", runs, reasonContainersNotReady, "containers with unknown status: [c1]"},
		{"", "yn", "", runs, reasonContainersNotReady, "containers with unready status: [c1]"},
		{"", "n", "", corev1.PodSucceeded, reasonPodCompleted, ""},
		{"-", "y", "", runs, reasonContainersNotReady, "containers with unknown status: [s0]"},
		{"yy", "y", "", runs, "", ""},
		{"y-", "y", "", runs, reasonContainersNotReady, "containers with unknown status: [s1]"},
		{"yn", "y", "", runs, reasonContainersNotReady, "containers with unready status: [s1]"},
	} {
		pod, status := c.build(i == 0)
		_, is := readyConditions(pod, status)
		assert.Equal(t, condition(corev1.ContainersReady, c.reason, c.message), is, "%+v", c)
	}
}

// TestGeneratePodReadyCondition of status/generate_test.go, v1.37.1.
func TestAPodIsReadyAsForTheKubelet(t *testing.T) {
	for i, c := range []readyCase{
		{"", "", "", runs, reasonUnknownContainers, ""},
		{"", "", "", runs, "", ""},
		{"", "-", "", runs, reasonContainersNotReady, "containers with unknown status: [c0]"},
		{"", "yy", "", runs, "", ""},
		{"", "y-", "", runs, reasonContainersNotReady, "containers with unknown status: [c1]"},
		{"", "yn", "", runs, reasonContainersNotReady, "containers with unready status: [c1]"},
		{"", "n", "", corev1.PodSucceeded, reasonPodCompleted, ""},
		{"", "", "-", runs, reasonGatesNotReady, fmt.Sprintf(noGate, 0)},
		{"", "", "n", runs, reasonGatesNotReady, fmt.Sprintf(unmet, 0)},
		{"", "", "y", runs, "", ""},
		{"", "", "y-", runs, reasonGatesNotReady, fmt.Sprintf(noGate, 1)},
		{"", "", "yn", runs, reasonGatesNotReady, fmt.Sprintf(unmet, 1)},
		{"", "", "yy", runs, "", ""},
		{"", "n", "y", runs, reasonContainersNotReady, "containers with unready status: [c0]"},
	} {
		pod, status := c.build(i == 0)
		is, _ := readyConditions(pod, status)
		assert.Equal(t, condition(corev1.PodReady, c.reason, c.message), is, "%+v", c)
	}
}

// Tests of prober/worker_test.go, v1.37.1: FailureThreshold, SuccessThreshold,
// StartupProbeSuccessThreshold and StartupProbeFailureThreshold.
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
	} {
		p, got := newProbe(c.kind), ""
		for _, answer := range c.answers {
			assert.False(t, p.held, "%+v", c)
			p.observe(c.kind, &corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.failure}, answer == 'y')
			got += map[ProbeResult]string{ProbeSuccess: "y", ProbeFailure: "n", ProbeUnknown: "-"}[p.result]
		}
		assert.Equal(t, c.want, got, "%+v", c)
		assert.Equal(t, c.held, p.held, "%+v", c)
	}
}
