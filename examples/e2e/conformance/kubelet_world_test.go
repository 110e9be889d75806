package conformance

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const (
	gate       corev1.PodConditionType = "example.com/gate"
	hollowNode                         = "node"
	shownUID   types.UID               = "uid"
	shownImage                         = "image"
)

// kubeletWorld is a pod with its status in the API, and what a runtime shows of
// it.
type kubeletWorld struct {
	pod   *corev1.Pod
	shown cri.Pod
}

// frozenRuntime shows one pod, and runs nothing. A plan never ends.
type frozenRuntime struct {
	shown  cri.Pod
	looks  int // at the pod
	events []cri.Event
	plans  []cri.Plan
}

var _ cri.Runtime = (*frozenRuntime)(nil)

func (r *frozenRuntime) Begin(_ time.Time, plan cri.Plan) { r.plans = append(r.plans, plan) }
func (*frozenRuntime) Cancel(time.Time, types.UID)        {}
func (*frozenRuntime) Next(time.Time) (time.Time, bool)   { return time.Time{}, false }
func (*frozenRuntime) Remove(time.Time, types.UID) bool   { return true }
func (*frozenRuntime) Pods(time.Time, string) []types.UID { return nil }
func (*frozenRuntime) Reboot(time.Time, string)           {}
func (*frozenRuntime) RemoveNode(time.Time, string)       {}
func (*frozenRuntime) Name(time.Time, types.UID) types.NamespacedName {
	return types.NamespacedName{}
}

func (r *frozenRuntime) Pod(time.Time, types.UID) (cri.Pod, bool) {
	r.looks++
	return r.shown, true
}

func (*frozenRuntime) Probe(time.Time, types.UID, string, cri.ProbeKind) bool { return true }

func (r *frozenRuntime) Poll(time.Time) (cri.Event, bool) {
	if len(r.events) == 0 {
		return cri.Event{}, false
	}
	event := r.events[0]
	r.events = r.events[1:]
	return event, true
}

// frozen is a fleet with one node, and the runtime of a world.
func (w *kubeletWorld) frozen(t require.TestingT, node *corev1.Node) (*kubelet.Fleet, *frozenRuntime) {
	runtime := &frozenRuntime{shown: w.shown}
	return fleetOn(t, runtime, node), runtime
}

// fleetOn returns a fleet with one node, and no pods yet.
func fleetOn(t require.TestingT, runtime cri.Runtime, node *corev1.Node) *kubelet.Fleet {
	fleet, err := kubelet.NewFleet(kubelet.FleetConfig{Runtime: runtime}, epoch)
	require.NoError(t, err)
	fleet.ObserveNode(epoch, node)
	fleet.MarkSynced(epoch)
	return fleet
}

// fakeFleet returns one whose containers do what their pods' annotations say.
func fakeFleet(t require.TestingT) (*kubelet.Fleet, *cri.Fake) {
	runtime, err := cri.NewFake(epoch)
	require.NoError(t, err)
	return fleetOn(t, runtime, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode}}), runtime
}

// kubeletWorld makes a pod whose containers are in any state that a kubelet
// could find when it starts.
func (d dice) kubeletWorld() *kubeletWorld {
	w := &kubeletWorld{pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: shownUID, Generation: int64(1 + d.IntN(3)),
			CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour))},
		Spec: corev1.PodSpec{
			NodeName: hollowNode, HostNetwork: d.oneIn(6),
			RestartPolicy: pick(d, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		},
	}}
	for i := range d.IntN(3) {
		c := d.shownContainer(fmt.Sprintf("i%d", i))
		if d.oneIn(3) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, c)
	}
	for i := range 1 + d.IntN(2) {
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, d.shownContainer(fmt.Sprintf("c%d", i)))
	}
	for range d.IntN(2) {
		w.pod.Spec.ReadinessGates = append(w.pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
	d.showSandboxes(w)
	for _, c := range w.containers() {
		d.showRuns(w, c)
	}
	w.pod.Status = d.formerStatus(w)
	return w
}

// containers returns all containers of the pod.
func (w *kubeletWorld) containers() []*corev1.Container {
	var all []*corev1.Container
	for _, list := range [][]corev1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

func (d dice) shownContainer(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: shownImage}
	if d.oneIn(4) {
		c.RestartPolicy = new(pick(d, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever))
	}
	for _, probe := range []**corev1.Probe{&c.StartupProbe, &c.ReadinessProbe, &c.LivenessProbe} {
		if d.oneIn(4) {
			// It runs later. Else a second status would precede the first write.
			*probe = &corev1.Probe{InitialDelaySeconds: 60}
		}
	}
	return c
}

func (d dice) showSandboxes(w *kubeletWorld) {
	w.shown.UID, w.shown.Node = w.pod.UID, hollowNode
	for n := d.IntN(3); n > 0; n-- {
		s := cri.Sandbox{
			ID: fmt.Sprintf("s%d", n), Attempt: uint32(n), Ready: !d.oneIn(4), HostNetwork: w.pod.Spec.HostNetwork,
		}
		if d.oneIn(10) {
			s.HostNetwork = !s.HostNetwork
		}
		if !s.HostNetwork && !d.oneIn(6) {
			s.IP = "10.0.0.1"
		}
		w.shown.Sandboxes = append(w.shown.Sandboxes, s)
	}
}

// showRuns shows the last runs of a container, the newest first.
func (d dice) showRuns(w *kubeletWorld, spec *corev1.Container) {
	if len(w.shown.Sandboxes) == 0 {
		return
	}
	newest := d.IntN(3)
	for n := newest; n > 0; n-- {
		c := cri.Container{
			ID: fmt.Sprintf("%s-%d", spec.Name, n), Name: spec.Name, Image: shownImage, Attempt: int32(n - 1),
			Sandbox: w.shown.Sandboxes[0].ID, CreatedAt: epoch.Add(-time.Minute), State: cri.StateExited,
		}
		if n == newest {
			c.State = pick(d, cri.StateCreated, cri.StateRunning, cri.StateRunning, cri.StateExited, cri.StateExited,
				cri.StateUnknown)
		} else if d.oneIn(3) {
			c.Sandbox = "gone"
		}
		if c.State == cri.StateRunning || c.State == cri.StateExited {
			c.StartedAt = epoch.Add(-time.Duration(d.IntN(30)) * time.Second)
		}
		if c.State == cri.StateExited {
			c.FinishedAt, c.ExitCode = epoch.Add(-time.Duration(d.IntN(20))*time.Second), pick[int32](d, 0, 1)
		}
		w.shown.Containers = append(w.shown.Containers, c)
	}
}

// formerStatus is what the API server has of the pod.
func (d dice) formerStatus(w *kubeletWorld) corev1.PodStatus {
	s := corev1.PodStatus{Phase: pick(d, corev1.PodPending, corev1.PodRunning)}
	for _, kind := range []corev1.PodConditionType{gate, corev1.PodInitialized, corev1.PodReady} {
		if d.oneIn(3) {
			s.Conditions = append(s.Conditions, corev1.PodCondition{
				Type: kind, Status: pick(d, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
			})
		}
	}
	for _, list := range []struct {
		specs    []corev1.Container
		statuses *[]corev1.ContainerStatus
	}{{w.pod.Spec.InitContainers, &s.InitContainerStatuses}, {w.pod.Spec.Containers, &s.ContainerStatuses}} {
		for _, spec := range list.specs {
			if d.oneIn(2) {
				*list.statuses = append(*list.statuses, d.formerContainer(spec.Name))
			}
		}
	}
	return s
}

func (d dice) formerContainer(name string) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: name, Image: shownImage, ContainerID: name + "-1"}
	ended := &corev1.ContainerStateTerminated{ExitCode: pick[int32](d, 0, 1), ContainerID: name + "-0"}
	switch d.IntN(3) {
	case 0:
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case 1:
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(epoch.Add(-time.Minute))}
	default:
		c.State.Terminated = ended
	}
	if d.oneIn(3) {
		c.RestartCount, c.LastTerminationState.Terminated = 1, ended
	}
	return c
}

// upstream returns what upstream's runtime shows in the same world.
func (w *kubeletWorld) upstream() *kubecontainer.PodStatus {
	status := &kubecontainer.PodStatus{ID: w.pod.UID, Name: w.pod.Name, Namespace: w.pod.Namespace}
	for _, s := range w.shown.Sandboxes {
		sandbox := &runtimeapi.PodSandboxStatus{
			Id: s.ID, Metadata: &runtimeapi.PodSandboxMetadata{Attempt: s.Attempt},
			State:   runtimeapi.PodSandboxState_SANDBOX_NOTREADY,
			Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.IP},
			Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
				Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_POD}}},
		}
		if s.Ready {
			sandbox.State = runtimeapi.PodSandboxState_SANDBOX_READY
		}
		if s.HostNetwork {
			sandbox.Linux.Namespaces.Options.Network = runtimeapi.NamespaceMode_NODE
		}
		status.SandboxStatuses = append(status.SandboxStatuses, sandbox)
	}
	for _, c := range w.shown.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, &kubecontainer.Status{
			ID: kubecontainer.ContainerID{Type: "fake", ID: c.ID}, Name: c.Name, Image: c.Image,
			State: upstreamState(c.State), ExitCode: int(c.ExitCode), RestartCount: int(c.Attempt),
			CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		})
	}
	return status
}

func upstreamState(s cri.State) kubecontainer.State {
	switch s {
	case cri.StateCreated:
		return kubecontainer.ContainerStateCreated
	case cri.StateRunning:
		return kubecontainer.ContainerStateRunning
	case cri.StateExited:
		return kubecontainer.ContainerStateExited
	default:
		return kubecontainer.ContainerStateUnknown
	}
}
