package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// told is what a world's fleets have told, a line each, without the starts of
// kubelets.
type told struct {
	lines  []string
	events []Event
}

// newEventWorld returns a world whose events are recorded.
func newEventWorld(t *testing.T, nodes ...string) (*world, *told) {
	w, all := newWorld(t), &told{}
	w.record = func(e Event) {
		all.events = append(all.events, e)
		if e.Reason != toldStarting {
			all.lines = append(all.lines, fmt.Sprintf("%s %s %s%s: %s", w.now.Sub(start), e.Reason,
				e.Object.Name, strings.TrimPrefix(e.Object.FieldPath, "spec."), e.Message))
		}
	}
	w.restart(nodes...)
	return w, all
}

// reasons returns those of the events since the last call, with their times.
func (a *told) reasons() string {
	var all []string
	for _, line := range a.lines {
		all = append(all, strings.Join(strings.Fields(line)[:2], " "))
	}
	a.lines = nil
	return strings.Join(all, ", ")
}

func TestEventsOfAPodThatComesAndGoes(t *testing.T) {
	w, all := newEventWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.ResourceVersion = "7"
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "image"}}
	}, "pull-time", "2s", "i:run-time", "1s", "stop-time", "1s")
	w.run(10 * time.Second)
	w.delete("a", 30)
	w.run(time.Minute)
	const present = `Container image "image" already present on machine and can be accessed by the pod`
	assert.Equal(t, []string{
		`0s Pulling ainitContainers{i}: Pulling image "image"`,
		`2s Pulled ainitContainers{i}: Successfully pulled image "image" in 2s (2s including waiting). Image size: 0 bytes.`,
		"2s Created ainitContainers{i}: Container created", "2s Started ainitContainers{i}: Container started",
		"3s Pulled acontainers{c}: " + present,
		"3s Created acontainers{c}: Container created", "3s Started acontainers{c}: Container started",
		"10s Killing acontainers{c}: Stopping container c",
	}, all.lines)
	assert.Equal(t, Event{
		Node: "node", Type: "Normal", Reason: "Pulling", Message: `Pulling image "image"`,
		Object: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "a", UID: "a", ResourceVersion: "7",
			FieldPath: "spec.initContainers{i}",
		},
	}, all.events[1])
}

// Each case is a pod, what is done to it after a minute, and what is told.
func TestReasonsOfEvents(t *testing.T) {
	probe := &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 2}
	for name, test := range map[string]struct {
		change      func(*corev1.Pod)
		annotations []string
		act         func(w *world)
		faults      Faults
		want        []string
		warnings    int
	}{
		"a pull fails twice": {
			annotations: []string{"pull-failures", "2"},
			want: []string{
				`Pulling c: Pulling image "image"`,
				`Failed c: Failed to pull image "image": image "image" failed by annotation`, "Failed c: Error: ErrImagePull",
				`BackOff c: Back-off pulling image "image"`, "Failed c: Error: ImagePullBackOff",
			},
			warnings: 6,
		},
		"an image is never pulled": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullNever },
			want: []string{
				`ErrImageNeverPull c: Container image "image" is not present with pull policy of Never`,
				"Failed c: Error: ErrImageNeverPull",
			},
			warnings: 12,
		},
		"a start fails": {
			annotations: []string{"start-failures", "1"},
			want:        []string{"Created c: Container created", "Failed c: Error: start failed by annotation"},
			warnings:    1,
		},
		"a postStart hook fails": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
			},
			annotations: []string{"post-start-failures", "1"},
			want: []string{
				"Started c: Container started", "FailedPostStartHook c: PostStartHook failed",
				"Killing c: FailedPostStartHook",
			},
			warnings: 1,
		},
		"a sandbox fails": {
			annotations: []string{"sandbox-failures", "1"},
			want:        []string{"FailedCreatePodSandBox : Failed to create pod sandbox: failed by annotation"},
			warnings:    1,
		},
		"a container crashes": {
			annotations: []string{"run-time", "1s", "exit-code", "1"},
			want:        []string{"BackOff c: Back-off restarting failed container c in pod a_ns(a)"},
			warnings:    3,
		},
		"liveness fails": {
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = probe },
			annotations: []string{"live-time", "15s"},
			want: []string{
				"Unhealthy c: Liveness probe failed: failed by annotation",
				"Killing c: Container c failed liveness probe, will be restarted",
			},
			warnings: 4,
		},
		"liveness fails of a pod that is not restarted": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].LivenessProbe, p.Spec.RestartPolicy = probe, never
			},
			annotations: []string{"live-time", "15s"},
			want:        []string{"Killing c: Stopping container c"},
			warnings:    2,
		},
		"startup fails": {
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].StartupProbe = probe },
			annotations: []string{"startup-time", "forever"},
			want: []string{
				"Unhealthy c: Startup probe failed: failed by annotation",
				"Killing c: Container c failed startup probe, will be restarted",
			},
			warnings: 10,
		},
		"readiness fails": {
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = probe },
			annotations: []string{"ready-time", "15s"},
			want:        []string{"Unhealthy c: Readiness probe failed: failed by annotation"},
			warnings:    2,
		},
		"a sidecar changes": {
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "s", Image: "image", RestartPolicy: &always}}
			},
			act: func(w *world) {
				pod := w.pods["a"].DeepCopy()
				pod.Spec.InitContainers[0].Image, pod.Generation = "other", 2
				w.observe(pod)
			},
			want: []string{"Killing s: Init container s definition changed"},
		},
		"an image changes": {
			act: func(w *world) {
				pod := w.pods["a"].DeepCopy()
				pod.Spec.Containers[0].Image, pod.Generation = "other", 2
				w.observe(pod)
			},
			want: []string{"Killing c: Container c definition changed, will be restarted"},
		},
		"a machine reboots": {
			act:  func(w *world) { w.reboot("node") },
			want: []string{"SandboxChanged : Pod sandbox changed, it will be killed and re-created."},
		},
		"a deadline passes": {
			change: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](20) },
			want: []string{
				"DeadlineExceeded : Pod was active on the node longer than the specified deadline",
				"Killing c: Stopping container c",
			},
		},
		"a node has no room": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}
			},
			want:     []string{"OutOfcpu : Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 4000"},
			warnings: 1,
		},
		"a node has another label": {
			change: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
			want: []string{
				"NodeAffinity : Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
			},
			warnings: 1,
		},
		"a node is under pressure": {
			faults:   Faults{DiskPressure: true},
			want:     []string{"Evicted : The node had condition: [DiskPressure]. "},
			warnings: 1,
		},
		"a node has no network": {
			faults: Faults{NetworkDown: true},
			want: []string{"NetworkNotReady : network is not ready: container runtime network not ready: " +
				"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: " +
				"cni plugin not initialized"},
			warnings: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, all := newEventWorld(t)
			w.fleet.ObserveNode(w.now, &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node"},
				Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10"),
				}},
			})
			w.run(time.Second)
			w.fleet.SetFaults(w.now, "node", test.faults)
			w.run(10 * time.Second)
			w.pod("a", test.change, test.annotations...)
			w.run(time.Minute)
			if test.act != nil {
				all.events = nil
				test.act(w)
				w.run(time.Minute)
			}
			var lines []string
			warnings := 0
			for _, e := range all.events {
				_, container, _ := strings.Cut(strings.TrimSuffix(e.Object.FieldPath, "}"), "{")
				lines = append(lines, fmt.Sprintf("%s %s: %s", e.Reason, container, e.Message))
				if e.Type == corev1.EventTypeWarning {
					warnings++
				}
			}
			assert.Subset(t, lines, test.want)
			assert.Equal(t, test.warnings, warnings, "%s", strings.Join(lines, "\n"))
		})
	}
}

// A pull that takes long is told when it begins, and one that fails when it
// fails, whatever the plan does then.
func TestEventsDoNotWaitForTheEndOfAPlan(t *testing.T) {
	w, all := newEventWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "d", Image: "other"})
	}, "c:pull-failures", "1", "d:pull-time", "10m")
	w.run(time.Second)
	assert.Equal(t, "0s Pulling, 0s Failed, 0s Failed, 0s Pulling", all.reasons())
}

func TestEventsOfStaticPodsAreAboutThem(t *testing.T) {
	w, all := newEventWorld(t)
	w.static = []*corev1.Pod{staticPod("s")}
	w.restart("node")
	w.run(time.Second)
	mirror := w.mirror("s", "node")
	last := all.events[len(all.events)-1]
	assert.Equal(t, "Started", last.Reason)
	assert.Equal(t, mirror.Name, last.Object.Name)
	assert.Equal(t, RuntimeUID(mirror), last.Object.UID, "as kubectl describe expects it")
}

// Its name is known to the runtime alone, and not its containers.
func TestNoEventsOfAPodThatOnlyTheRuntimeHas(t *testing.T) {
	w, all := newEventWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	delete(w.pods, "a")
	all.lines = nil
	w.restart("node")
	w.run(time.Minute)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
	assert.Empty(t, all.reasons())
}

// ofNodes returns the reasons of the events of nodes since the last call, and
// marks warnings.
func (a *told) ofNodes() string {
	var all []string
	for _, e := range a.events {
		if e.Object.Kind != "Node" {
			continue
		}
		reason := e.Reason
		if e.Type == corev1.EventTypeWarning {
			reason += "!"
		}
		all = append(all, reason)
	}
	a.events = nil
	return strings.Join(all, " ")
}

func TestEventsOfANodeThatRegisters(t *testing.T) {
	w, all := newEventWorld(t)
	require.NoError(t, w.fleet.Register(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid"}}))
	w.run(time.Second)
	assert.Equal(t, Event{
		Node: "n", Type: "Normal", Reason: "NodeReady", Message: "Node n status is now: NodeReady",
		Object: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid"},
	}, all.events[4])
	assert.Equal(t, "Starting NodeHasSufficientMemory NodeHasNoDiskPressure NodeHasSufficientPID NodeReady",
		all.ofNodes())
	node := w.fleet.nodes["n"].object
	w.restart()
	w.fleet.ObserveNode(w.now, node)
	w.run(time.Second)
	assert.Equal(t, "Starting", all.ofNodes(), "nothing else has changed")
	w.reboot("n")
	w.run(time.Second)
	assert.Equal(t, "Starting Rebooted!", all.ofNodes())
}

func TestEventsOfANodeFollowWhatTheAPIShows(t *testing.T) {
	w, all := newEventWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	w.fleet.ObserveNode(w.now, node)
	w.run(time.Second)
	all.events = nil
	for _, step := range []struct {
		faults Faults
		want   string
	}{
		{Faults{}, "NodeHasSufficientMemory NodeHasNoDiskPressure NodeHasSufficientPID NodeReady"},
		{Faults{}, ""},
		{Faults{MemoryPressure: true, DiskPressure: true, PIDPressure: true},
			"NodeHasInsufficientMemory NodeHasDiskPressure NodeHasInsufficientPID"},
		{Faults{NetworkDown: true},
			"NodeHasSufficientMemory NodeHasNoDiskPressure NodeHasSufficientPID NodeNotReady"},
		{Faults{}, "NodeReady"},
	} {
		w.fleet.SetFaults(w.now, "n", step.faults)
		w.run(time.Minute)
		node = node.DeepCopy()
		node.Status, _ = w.fleet.NodeStatus(w.now, "n")
		w.fleet.ObserveNode(w.now, node)
		assert.Equal(t, step.want, all.ofNodes())
	}
	for _, step := range []struct {
		unschedulable bool
		want          string
	}{{true, "NodeNotSchedulable"}, {false, "NodeSchedulable"}} {
		node = node.DeepCopy()
		node.Spec.Unschedulable = step.unschedulable
		w.fleet.ObserveNode(w.now, node)
		assert.Equal(t, step.want, all.ofNodes())
	}
	// The node lifecycle controller writes Unknown, and no kubelet tells that.
	node = node.DeepCopy()
	node.Status.Conditions[3].Status = corev1.ConditionUnknown
	w.fleet.ObserveNode(w.now, node)
	assert.Empty(t, all.ofNodes())
}

// What happens meanwhile is not told later, except a start.
func TestASilentNodeTellsNothing(t *testing.T) {
	w, all := newEventWorld(t)
	w.fleet.ObserveNode(w.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: "former"}},
	})
	w.fleet.SetFaults(w.now, "n", Faults{Silent: true})
	w.pod("a", func(p *corev1.Pod) { p.Spec.NodeName = "n" })
	w.run(time.Minute)
	assert.Empty(t, all.events)
	w.fleet.SetFaults(w.now, "n", Faults{})
	w.run(time.Second)
	assert.Equal(t, "Starting Rebooted!", all.ofNodes())
	w.fleet.SetFaults(w.now, "n", Faults{Silent: true})
	w.runtime.Crash(w.now, "a", "c", 1)
	w.run(time.Minute)
	w.fleet.SetFaults(w.now, "n", Faults{})
	w.run(time.Second)
	assert.Empty(t, all.events)
	state, _ := w.runtime.Pod(w.now, "a")
	require.Len(t, state.Containers, 2)
	assert.Equal(t, cri.StateRunning, state.Containers[0].State)
}
