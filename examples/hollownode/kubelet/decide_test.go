package kubelet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// baseView is a pod with three containers that run in a sandbox.
func baseView() *View {
	v := &View{
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", Namespace: "ns", Name: "pod"}},
		Observed: &cri.Pod{UID: "uid", Sandboxes: []cri.Sandbox{
			{ID: "sandbox", Ready: true, IP: "10.0.0.1"},
		}},
		Probes: Probes{},
	}
	for _, name := range []string{"c1", "c2", "c3"} {
		v.Pod.Spec.Containers = append(v.Pod.Spec.Containers, corev1.Container{Name: name, Image: "image"})
		v.Observed.Containers = append(v.Observed.Containers, running(name))
	}
	return v
}

func running(name string) cri.Container {
	return cri.Container{ID: name + "-id", Name: name, Image: "image", Sandbox: "sandbox", State: cri.StateRunning}
}

func exited(name string, code int32) cri.Container {
	c := running(name)
	c.State, c.ExitCode = cri.StateExited, code
	return c
}

// initView is a pod with three init containers that have succeeded.
func initView() *View {
	v := baseView()
	v.Observed.Containers = nil
	for _, name := range []string{"i1", "i2", "i3"} {
		v.Pod.Spec.InitContainers = append(v.Pod.Spec.InitContainers, corev1.Container{Name: name, Image: "image"})
		v.Observed.Containers = append(v.Observed.Containers, exited(name, 0))
	}
	return v
}

var always = corev1.ContainerRestartPolicyAlways

// sidecarView is a pod with three sidecars that run. The second and third have
// probes that have succeeded.
func sidecarView() *View {
	v := initView()
	for i := range v.Pod.Spec.InitContainers {
		c := &v.Pod.Spec.InitContainers[i]
		c.RestartPolicy = &always
		v.Observed.Containers[i].State = cri.StateRunning
		if i > 0 {
			c.LivenessProbe, c.StartupProbe = &corev1.Probe{}, &corev1.Probe{}
			set(v, i, cri.ProbeLiveness, ProbeSuccess)
			set(v, i, cri.ProbeStartup, ProbeSuccess)
		}
	}
	return v
}

// set sets the result of a probe of the container at an index.
func set(v *View, i int, kind cri.ProbeKind, result ProbeResult) {
	v.Probes[ProbeKey{v.Observed.Containers[i].ID, kind}] = result
}

func state(v *View, i int, s cri.State, code int32) {
	v.Observed.Containers[i].State, v.Observed.Containers[i].ExitCode = s, code
}

func policy(v *View, p corev1.RestartPolicy) { v.Pod.Spec.RestartPolicy = p }

func notReady(v *View) { v.Observed.Sandboxes[0].Ready = false }

// summary is what a sync does, in the order in which it does it.
func summary(a Actions) string {
	var parts []string
	if a.KillPod {
		parts = append(parts, "kill pod")
	}
	for _, k := range a.Kills {
		parts = append(parts, "kill "+k.Container)
	}
	if a.CreateSandbox {
		parts = append(parts, fmt.Sprint("sandbox ", a.Attempt))
	}
	for _, s := range a.Starts {
		parts = append(parts, "start "+s.Container)
	}
	return strings.Join(parts, ", ")
}

type decision struct {
	name   string
	change func(v *View)
	want   string
}

func checkDecisions(t *testing.T, base func() *View, decisions []decision) {
	for _, d := range decisions {
		v := base()
		if d.change != nil {
			d.change(v)
		}
		assert.Equal(t, d.want, summary(Decide(v)), d.name)
	}
}

const (
	never     = corev1.RestartPolicyNever
	onFailure = corev1.RestartPolicyOnFailure
	restart   = corev1.RestartPolicyAlways
)

// The 17 cases of TestComputePodActions of v1.37.1.
var mainDecisions = []decision{
	{"all is well", nil, ""},
	{"new pod", func(v *View) { v.Observed = &cri.Pod{} },
		"kill pod, sandbox 0, start c1, start c2, start c3"},
	{"Always restarts what has exited", func(v *View) {
		policy(v, restart)
		state(v, 0, cri.StateExited, 0)
		state(v, 1, cri.StateExited, 111)
	}, "start c1, start c2"},
	{"OnFailure restarts what has failed", func(v *View) {
		policy(v, onFailure)
		state(v, 0, cri.StateExited, 0)
		state(v, 1, cri.StateExited, 111)
	}, "start c2"},
	{"OnFailure starts what was created", func(v *View) {
		policy(v, onFailure)
		state(v, 0, cri.StateExited, 0)
		state(v, 1, cri.StateCreated, 0)
	}, "start c2"},
	{"Never restarts nothing", func(v *View) {
		policy(v, never)
		state(v, 0, cri.StateExited, 0)
		state(v, 1, cri.StateExited, 111)
	}, ""},
	{"dead sandbox, Always", func(v *View) { policy(v, restart); notReady(v) },
		"kill pod, sandbox 1, start c1, start c2, start c3"},
	{"dead sandbox, OnFailure, one succeeded", func(v *View) {
		policy(v, onFailure)
		notReady(v)
		state(v, 1, cri.StateExited, 0)
	}, "kill pod, sandbox 1, start c1, start c3"},
	{"sandbox without IP", func(v *View) { v.Observed.Sandboxes[0].IP = "" },
		"kill pod, sandbox 1, start c1, start c2, start c3"},
	{"definition changed", func(v *View) { v.Observed.Containers[1].Image = "other" }, "kill c2, start c2"},
	{"liveness failed", func(v *View) { set(v, 1, cri.ProbeLiveness, ProbeFailure) }, "kill c2, start c2"},
	{"startup failed", func(v *View) { set(v, 1, cri.ProbeStartup, ProbeFailure) }, "kill c2, start c2"},
	{"dead sandbox, Never, all exited", func(v *View) {
		policy(v, never)
		notReady(v)
		v.Observed.Sandboxes[0].Attempt = 1
		for i := range v.Observed.Containers {
			state(v, i, cri.StateExited, 0)
		}
	}, "kill pod"},
	{"dead sandbox, OnFailure, all succeeded", func(v *View) {
		policy(v, onFailure)
		notReady(v)
		v.Observed.Sandboxes[0].Attempt = 1
		for i := range v.Observed.Containers {
			state(v, i, cri.StateExited, 0)
		}
	}, "kill pod"},
	{"dead sandbox, Never, none ever created", func(v *View) {
		policy(v, never)
		notReady(v)
		v.Observed.Sandboxes[0].Attempt = 2
		v.Observed.Containers = nil
	}, "kill pod, sandbox 3, start c1, start c2, start c3"},
	{"unknown state", func(v *View) { policy(v, never); state(v, 1, cri.StateUnknown, 0) }, "kill c2, start c2"},
	{"created state", func(v *View) { policy(v, never); state(v, 1, cri.StateCreated, 0) }, "start c2"},
}

func TestContainersAreStartedAndKeptAsByTheKubelet(t *testing.T) {
	assert.Len(t, mainDecisions, 17)
	checkDecisions(t, baseView, mainDecisions)
}

// staleMain is a main container of a sandbox that is gone.
func staleMain(v *View) {
	stale := running("c1")
	stale.Sandbox, stale.State = "former", cri.StateCreated
	v.Observed.Containers = []cri.Container{stale}
}

// 16 of the 19 cases of TestComputePodActionsWithInitContainers of v1.37.1. The
// other 3 are about in-place resize.
var initDecisions = []decision{
	{"all succeeded", nil, "start c1, start c2, start c3"},
	{"none started", func(v *View) { v.Observed.Containers = nil }, "start i1"},
	{"in progress", func(v *View) { policy(v, restart); state(v, 2, cri.StateRunning, 0) }, ""},
	{"dead sandbox", func(v *View) { policy(v, restart); notReady(v) }, "kill pod, sandbox 1, start i1"},
	{"failed, Always", func(v *View) { policy(v, restart); state(v, 2, cri.StateExited, 137) }, "start i3"},
	{"failed, OnFailure", func(v *View) { policy(v, onFailure); state(v, 2, cri.StateExited, 137) }, "start i3"},
	{"failed, Never", func(v *View) { policy(v, never); state(v, 2, cri.StateExited, 137) }, "kill pod"},
	{"unknown, Always", func(v *View) { policy(v, restart); state(v, 2, cri.StateUnknown, 0) }, "kill i3, start i3"},
	{"unknown, OnFailure", func(v *View) { policy(v, onFailure); state(v, 2, cri.StateUnknown, 0) },
		"kill i3, start i3"},
	{"unknown, Never", func(v *View) { policy(v, never); state(v, 2, cri.StateUnknown, 0) }, "kill pod"},
	{"dead sandbox, Never", func(v *View) { policy(v, never); notReady(v) }, "kill pod"},
	{"dead sandbox, Never, none visible", func(v *View) {
		policy(v, never)
		notReady(v)
		v.Observed.Containers = nil
	}, "kill pod, sandbox 1, start i1"},
	{"dead sandbox, OnFailure, failed", func(v *View) {
		policy(v, onFailure)
		notReady(v)
		state(v, 2, cri.StateExited, 137)
	}, "kill pod, sandbox 1, start i1"},
	{"only the last is visible and runs", func(v *View) {
		policy(v, restart)
		state(v, 2, cri.StateRunning, 0)
		v.Observed.Containers = v.Observed.Containers[2:]
	}, ""},
	{"main container of a former sandbox", staleMain, "start i1"},
	{"created", func(v *View) { policy(v, restart); state(v, 2, cri.StateCreated, 0) }, "start i3"},
}

func TestInitContainersRunInOrderAsByTheKubelet(t *testing.T) {
	assert.Len(t, initDecisions, 16)
	checkDecisions(t, initView, initDecisions)
}

func firstOnes(v *View, n int) { v.Observed.Containers = v.Observed.Containers[:n] }

// The 25 cases of TestComputePodActionsWithRestartableInitContainers of
// v1.37.1.
var sidecarDecisions = []decision{
	{"all started", nil, "start c1, start c2, start c3"},
	{"none started", func(v *View) { v.Observed.Containers = nil }, "start i1"},
	{"created", func(v *View) { state(v, 2, cri.StateCreated, 0) }, "start i3"},
	{"the first has started", func(v *View) { firstOnes(v, 1) }, "start i2"},
	{"liveness has not run", func(v *View) {
		delete(v.Probes, ProbeKey{"i2-id", cri.ProbeLiveness})
		firstOnes(v, 2)
	}, "start i3"},
	{"liveness in progress", func(v *View) {
		set(v, 1, cri.ProbeLiveness, ProbeUnknown)
		firstOnes(v, 2)
	}, "start i3"},
	{"liveness succeeded", func(v *View) { firstOnes(v, 2) }, "start i3"},
	{"liveness failed", func(v *View) { set(v, 2, cri.ProbeLiveness, ProbeFailure) },
		"kill i3, start i3, start c1, start c2, start c3"},
	{"startup has not run", func(v *View) {
		delete(v.Probes, ProbeKey{"i2-id", cri.ProbeStartup})
		firstOnes(v, 2)
	}, ""},
	{"startup in progress", func(v *View) {
		set(v, 1, cri.ProbeStartup, ProbeUnknown)
		firstOnes(v, 2)
	}, ""},
	{"startup succeeded", func(v *View) { firstOnes(v, 2) }, "start i3"},
	{"startup failed", func(v *View) { set(v, 2, cri.ProbeStartup, ProbeFailure) }, "kill i3, start i3"},
	{"definition changed", func(v *View) { v.Pod.Spec.InitContainers[2].Image = "other" },
		"kill i3, start i3, start c1, start c2, start c3"},
	{"first and last terminated", func(v *View) {
		state(v, 0, cri.StateExited, 0)
		state(v, 2, cri.StateExited, 0)
	}, "start i1, start i3"},
	{"first terminated", func(v *View) { state(v, 0, cri.StateExited, 0) },
		"start i1, start c1, start c2, start c3"},
	{"dead sandbox, Never, failed", func(v *View) {
		policy(v, never)
		notReady(v)
		state(v, 2, cri.StateExited, 137)
	}, "kill pod"},
	{"dead sandbox, Never, none visible", func(v *View) {
		policy(v, never)
		notReady(v)
		v.Observed.Containers = nil
	}, "kill pod, sandbox 1, start i1"},
	{"dead sandbox, OnFailure, failed", func(v *View) {
		policy(v, onFailure)
		notReady(v)
		state(v, 2, cri.StateExited, 137)
	}, "kill pod, sandbox 1, start i1"},
	{"dead sandbox, Always, failed", func(v *View) {
		policy(v, restart)
		notReady(v)
		state(v, 2, cri.StateExited, 137)
	}, "kill pod, sandbox 1, start i1"},
	{"failed, Never", func(v *View) { policy(v, never); state(v, 2, cri.StateExited, 137) }, "start i3"},
	{"unknown, Never", func(v *View) { policy(v, never); state(v, 2, cri.StateUnknown, 0) }, "kill i3, start i3"},
	{"failed, Never, main containers run", func(v *View) {
		policy(v, never)
		state(v, 2, cri.StateExited, 137)
		v.Observed.Containers = append(v.Observed.Containers, running("c1"), running("c2"), running("c3"))
	}, "start i3"},
	{"Never, main containers succeeded", func(v *View) {
		policy(v, never)
		v.Observed.Containers = append(v.Observed.Containers, exited("c1", 0), exited("c2", 0), exited("c3", 0))
	}, "kill pod"},
	{"only the last is visible and runs", func(v *View) { v.Observed.Containers = v.Observed.Containers[2:] },
		"start i1, start i2, start c1, start c2, start c3"},
	{"main container of a former sandbox", func(v *View) {
		v.Pod.Spec.InitContainers[1].RestartPolicy = nil
		staleMain(v)
	}, "start i1"},
}

func TestSidecarsAreKeptAsByTheKubelet(t *testing.T) {
	assert.Len(t, sidecarDecisions, 25)
	checkDecisions(t, sidecarView, sidecarDecisions)
}

// own sets the policies of the first two containers.
func own(v *View, p corev1.ContainerRestartPolicy) {
	v.Pod.Spec.Containers[0].RestartPolicy, v.Pod.Spec.Containers[1].RestartPolicy = &p, &p
}

// The 5 cases of TestComputePodActionsWithContainerRestartRules of v1.37.1.
func TestAContainersOwnPolicyComesBeforeThePods(t *testing.T) {
	exits := func(v *View) { state(v, 0, cri.StateExited, 0); state(v, 1, cri.StateExited, 111) }
	checkDecisions(t, baseView, []decision{
		{"Always", func(v *View) { policy(v, never); own(v, always); exits(v) }, "start c1, start c2"},
		{"OnFailure", func(v *View) {
			policy(v, never)
			own(v, corev1.ContainerRestartPolicyOnFailure)
			exits(v)
		}, "start c2"},
		{"OnFailure, created", func(v *View) {
			policy(v, never)
			own(v, corev1.ContainerRestartPolicyOnFailure)
			exits(v)
			state(v, 1, cri.StateCreated, 0)
		}, "start c2"},
		{"Never", func(v *View) { policy(v, restart); own(v, corev1.ContainerRestartPolicyNever); exits(v) }, ""},
		{"dead sandbox", func(v *View) {
			policy(v, restart)
			own(v, corev1.ContainerRestartPolicyOnFailure)
			notReady(v)
			state(v, 1, cri.StateExited, 0)
		}, "kill pod, sandbox 1, start c1, start c3"},
	})
}

func TestEachKillHasItsReason(t *testing.T) {
	v := baseView()
	v.Observed.Containers[0].Image = "other"
	set(v, 1, cri.ProbeLiveness, ProbeFailure)
	state(v, 2, cri.StateExited, 1)
	a := Decide(v)
	assert.Equal(t, []Kill{{"c1", "c1-id", KillChanged}, {"c2", "c2-id", KillLiveness}}, a.Kills)
	notReady(v)
	assert.Equal(t, sandboxNotReady, Decide(v).SandboxReason)
}

func TestNothingIsStartedInAPodThatEnds(t *testing.T) {
	v := baseView()
	v.Pod.DeletionTimestamp = &metav1.Time{}
	state(v, 0, cri.StateExited, 1)
	assert.Empty(t, summary(Decide(v)))
}

func TestAnInitContainerWithoutMemoryHasFailed(t *testing.T) {
	v := initView()
	v.Observed.Containers[2].Reason = oomKilled
	assert.Equal(t, "start i3", summary(Decide(v)), "its policy restarts it in spite of exit code 0")
}

func TestAnInitializedPodDoesNotLoseItToAnOldRun(t *testing.T) {
	v := initView()
	policy(v, never)
	state(v, 0, cri.StateExited, 1)
	v.Observed.Containers = append(v.Observed.Containers, running("c1"), running("c2"), running("c3"))
	assert.Empty(t, summary(Decide(v)))
}

func TestSidecarsOfAPodThatIsDoneAreNotRestarted(t *testing.T) {
	v := sidecarView()
	policy(v, never)
	state(v, 2, cri.StateExited, 1)
	v.Observed.Containers = append(v.Observed.Containers, exited("c1", 0), exited("c2", 0), exited("c3", 0))
	assert.Equal(t, "kill pod", summary(Decide(v)))
}
