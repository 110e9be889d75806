package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	runtimeutil "k8s.io/kubernetes/pkg/kubelet/kuberuntime/util"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const kubeletWorlds = 20_000

// The conditions that the fleet writes are those that upstream generates from
// the same containers, sandboxes, phase and conditions before.
func TestConditionsOfAPodAreThoseOfTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(kubeletWorlds) {
		w := throw(seed).kubeletWorld()
		fleet, _ := w.frozen(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode}})
		fleet.ObservePod(epoch, w.pod)
		task, ok := fleet.Start(epoch)
		if !ok {
			reached.count("nothing to write")
			continue
		}
		require.Equal(t, kubelet.TaskPatchStatus, task.Kind, "seed %d", seed)
		written := task.Status
		for i := range written.Conditions {
			written.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		// A final phase is not written while containers may run, and upstream's
		// status manager withholds it as well. Its conditions are those of it.
		for _, c := range written.Conditions {
			final := map[string]corev1.PodPhase{status.PodCompleted: corev1.PodSucceeded, status.PodFailed: corev1.PodFailed}
			if phase, ends := final[c.Reason]; ends && c.Type == corev1.ContainersReady && written.Phase != phase {
				written.Phase = phase
				reached.count("final phase withheld")
			}
		}
		require.Equal(t, w.conditions(&written), written.Conditions, "seed %d: %v", seed, w)
		for _, c := range written.Conditions {
			reached.count("%s %s %s", c.Type, c.Status, c.Reason)
		}
	}
	f := floors{
		"final phase withheld":                               100,
		"PodReadyToStartContainers True ":                    2_000,
		"PodReadyToStartContainers False PodSandboxNotReady": 7_000,
		"Initialized True ":                                  6_000,
		"Initialized True PodCompleted":                      150,
		"Initialized False ContainersNotInitialized":         2_500,
		"Ready True ":                                        150,
		"Ready False ReadinessGatesNotReady":                 130,
		"ContainersReady True ":                              300,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		f[string(kind)+" False ContainersNotReady"] = 8_000
		f[string(kind)+" False PodCompleted"] = 170
		f[string(kind)+" False PodFailed"] = 1_000
	}
	reached.require(t, f)
}

// conditions returns what upstream generates next to a status.
func (w *kubeletWorld) conditions(s *corev1.PodStatus) []corev1.PodCondition {
	var all []corev1.PodCondition
	for _, c := range w.pod.Status.Conditions {
		if c.Type == gate {
			all = append(all, c)
		}
	}
	runtime, old := w.upstream(), &w.pod.Status
	containers := slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
	for i := range containers {
		w.asFirstSynced(runtime, &containers[i])
	}
	all = append(all,
		status.GeneratePodReadyToStartContainersCondition(w.pod, old, runtime),
		status.GeneratePodInitializedCondition(w.pod, old, containers, s.Phase),
		status.GeneratePodReadyCondition(w.pod, old, all, containers, s.Phase),
		status.GenerateContainersReadyCondition(w.pod, old, containers, s.Phase),
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, ObservedGeneration: w.pod.Generation})
	return all
}

const notLocated = "The container could not be located when the pod was terminated"

// asFirstSynced makes the status of a container what the first sync has made
// the conditions of. A pod may come to its end in the moment of that sync. Then
// TerminatePod of pkg/kubelet/status says of each container that it is not
// located, after the conditions, and a later sync forgets that it was lost.
func (w *kubeletWorld) asFirstSynced(runtime *kubecontainer.PodStatus, s *corev1.ContainerStatus) {
	ended := s.State.Terminated
	switch {
	case w.lost(runtime, s.Name):
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: notLocated}}
	case ended != nil && ended.Message == notLocated:
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	}
}

// lost reports whether a container ran, and the runtime does not know what has
// become of it.
func (w *kubeletWorld) lost(runtime *kubecontainer.PodStatus, name string) bool {
	newest := runtime.FindContainerStatusByName(name)
	if newest == nil || newest.State != kubecontainer.ContainerStateUnknown {
		return false
	}
	old := slices.Concat(w.pod.Status.InitContainerStatuses, w.pod.Status.ContainerStatuses)
	i := slices.IndexFunc(old, func(s corev1.ContainerStatus) bool { return s.Name == name })
	return i >= 0 && old[i].State.Running != nil
}

// A new sandbox is created in the same worlds, with the same attempt.
func TestASandboxIsReplacedAsByTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(kubeletWorlds) {
		w := throw(seed).kubeletWorld()
		changed, attempt, _, reason := runtimeutil.PodSandboxChanged(w.pod, w.upstream())
		actions := kubelet.Decide(&kubelet.View{Pod: w.pod, Observed: &w.shown})
		require.Equal(t, reason, actions.SandboxReason, "seed %d", seed)
		require.Equal(t, changed, reason != "", "seed %d", seed)
		require.Equal(t, attempt, actions.Attempt, "seed %d", seed)
		reached.count("sandbox: %s", reason)
	}
	f := floors{"sandbox: ": 2_000}
	for _, reason := range []string{
		kubetypes.PodSandboxNotReadyMsgNoPodSandbox, kubetypes.PodSandboxNotReadyMsgMultipleSandboxes,
		kubetypes.PodSandboxNotReadyMsgSandboxNotReady, kubetypes.PodSandboxNotReadyMsgNetworkNamespaceMode,
		kubetypes.PodSandboxNotReadyMsgNoIPAddress,
	} {
		f["sandbox: "+reason] = 300
	}
	reached.require(t, f)
}

// Of a pod with a sandbox and without init containers the same containers are
// started.
func TestContainersStartWhenTheKubeletStartsThem(t *testing.T) {
	reached := reached{}
	for seed := range seeds(kubeletWorlds) {
		d := throw(seed)
		w := d.kubeletWorld()
		w.pod.Spec.InitContainers = nil
		w.shown.Sandboxes = []cri.Sandbox{{ID: "s1", Ready: true, IP: "10.0.0.1", HostNetwork: w.pod.Spec.HostNetwork}}
		if d.oneIn(10) {
			w.pod.DeletionTimestamp = new(metav1.NewTime(epoch))
		}
		actions := kubelet.Decide(&kubelet.View{Pod: w.pod, Observed: &w.shown})
		var got, want []string
		for _, start := range actions.Starts {
			got = append(got, start.Container)
		}
		runtime := w.upstream()
		for i := range w.pod.Spec.Containers {
			c := &w.pod.Spec.Containers[i]
			starts := kubecontainer.ShouldContainerBeRestarted(klog.Background(), c, w.pod, runtime)
			if starts {
				want = append(want, c.Name)
			}
			if latest, found := w.shown.Latest(c.Name); found {
				reached.count("%s, starts=%v", latest.State, starts)
			} else {
				reached.count("none, starts=%v", starts)
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
	reached.require(t, floors{
		"Running, starts=false": 2_000, "none, starts=true": 7_000, "none, starts=false": 800,
		"Exited, starts=true": 1_000, "Exited, starts=false": 1_000, "Created, starts=true": 900,
		"Created, starts=false": 100, "Unknown, starts=true": 900, "Unknown, starts=false": 100,
	})
}
