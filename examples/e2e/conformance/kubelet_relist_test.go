package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/pleg"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const relists = 4_000

// A pod is synced for a change of its containers and sandboxes when upstream's
// relist sends an event for which its kubelet syncs: all but ContainerRemoved.
func TestAPodIsSyncedForTheEventsOfTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(relists) {
		d := throw(seed)
		w := d.kubeletWorld()
		w.endless()
		after := d.later(w)
		synced := w.syncedFor(t, after)
		want := false
		for _, event := range relist(t, w, after) {
			want = want || event.Type != pleg.ContainerRemoved
			reached.count("event %s", event.Type)
		}
		require.Equal(t, want, synced, "seed %d: from %v to %v", seed, w.shown, after.shown)
		reached.count("synced %v", synced)
	}
	reached.require(t, floors{
		"event ContainerStarted": 130, "event ContainerDied": 500, "event ContainerRemoved": 600, "synced true": 500,
		"synced false": 1_400,
	})
}

// endless makes a pod that never ends, and needs the network of pods.
func (w *kubeletWorld) endless() {
	w.pod.Spec.RestartPolicy, w.pod.Spec.HostNetwork = corev1.RestartPolicyAlways, false
	for _, c := range w.containers() {
		c.RestartPolicy = nil
	}
}

// later returns the world some time later.
func (d dice) later(w *kubeletWorld) *kubeletWorld {
	after := &kubeletWorld{pod: w.pod, shown: w.shown}
	after.shown.Sandboxes, after.shown.Containers = nil, nil
	for _, s := range w.shown.Sandboxes {
		if d.oneIn(8) {
			s.Ready = !s.Ready
		}
		if !d.oneIn(8) {
			after.shown.Sandboxes = append(after.shown.Sandboxes, s)
		}
	}
	for _, c := range w.shown.Containers {
		if d.oneIn(8) {
			c.State = pick(d, cri.StateCreated, cri.StateRunning, cri.StateExited, cri.StateUnknown)
		}
		if !d.oneIn(8) {
			after.shown.Containers = append(after.shown.Containers, c)
		}
	}
	return after
}

// syncedFor reports whether the fleet syncs the pod for a change.
func (w *kubeletWorld) syncedFor(t *testing.T, after *kubeletWorld) bool {
	fleet, runtime := w.frozen(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode}})
	// Without a network no plan is under way, during which a sync would wait.
	fleet.SetFaults(epoch, hollowNode, kubelet.Faults{NetworkDown: true})
	rest := func() {
		for task, ok := fleet.Start(epoch); ok; task, ok = fleet.Start(epoch) {
			fleet.Finish(epoch, task, kubelet.ResultDone)
		}
	}
	rest()
	fleet.ObservePod(epoch, w.pod)
	rest()
	require.Empty(t, runtime.plans)
	runtime.shown, runtime.looks = after.shown, 0
	runtime.events = []cri.Event{{Node: hollowNode, Pod: w.pod.UID}}
	rest()
	require.Positive(t, runtime.looks, "the relist of the pod")
	return runtime.looks > 1
}

// relist returns the events that upstream's relist sends.
func relist(t *testing.T, before, after *kubeletWorld) []*pleg.PodLifecycleEvent {
	events := make(chan *pleg.PodLifecycleEvent, 100)
	runtime := &containertest.FakeRuntime{}
	generator, ok := pleg.NewGenericPLEG(runtime, events, &pleg.RelistDuration{RelistPeriod: time.Second},
		kubecontainer.NewCache(), testingclock.NewFakeClock(epoch)).(*pleg.GenericPLEG)
	require.True(t, ok)
	var sent []*pleg.PodLifecycleEvent
	for _, w := range []*kubeletWorld{before, after} {
		sent = nil
		runtime.AllPodList = []*containertest.FakePod{{Pod: w.upstreamPod()}}
		generator.Relist(t.Context())
		for len(events) > 0 {
			sent = append(sent, <-events)
		}
	}
	return sent
}

// upstreamPod is the pod as upstream's runtime lists it.
func (w *kubeletWorld) upstreamPod() *kubecontainer.Pod {
	pod := &kubecontainer.Pod{ID: w.pod.UID, Name: w.pod.Name, Namespace: w.pod.Namespace}
	for _, s := range w.upstream().SandboxStatuses {
		pod.Sandboxes = append(pod.Sandboxes, &kubecontainer.Container{
			ID: kubecontainer.ContainerID{Type: "fake", ID: s.Id}, State: kubecontainer.SandboxToContainerState(s.State),
		})
	}
	for _, c := range w.upstream().ContainerStatuses {
		pod.Containers = append(pod.Containers, &kubecontainer.Container{ID: c.ID, Name: c.Name, State: c.State})
	}
	return pod
}
