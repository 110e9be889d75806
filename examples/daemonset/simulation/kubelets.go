package simulation

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Kubelets are how the scheduler and the kubelets of a cluster behave.
type Kubelets struct {
	// Bind is how long a pod waits for the scheduler. Begin is how long its
	// containers take until they run, and Ready until they are ready then. Stop is
	// how long they take to stop.
	Bind, Begin, Ready, Stop network.Span
	// Broken is in the name of images whose containers never become ready.
	Broken string
}

// BrokenImage is in the name of the images of a scenario that are broken.
const BrokenImage = "broken"

// ofScenarios are the kubelets of a scenario. A pod takes long often enough that
// others overtake it.
var ofScenarios = Kubelets{
	Bind:   network.Span{Min: 100 * time.Millisecond, Max: 2 * time.Second},
	Begin:  network.Span{Min: 200 * time.Millisecond, Max: 3 * time.Second},
	Ready:  network.Span{Min: 200 * time.Millisecond, Max: 5 * time.Second},
	Stop:   network.Span{Min: 200 * time.Millisecond, Max: 15 * time.Second},
	Broken: BrokenImage,
}

// seesNode is how long a kubelet takes to go on with its pods when its node has
// changed or is back.
var seesNode = network.Span{Min: time.Second, Max: 30 * time.Second}

// kubelets are those of a world. They say nothing of their nodes: nothing here waits for
// that.
type kubelets struct {
	Kubelets

	world  *model.World
	random *rand.Rand
	// failUntil is until when the pods of a machine fail, and slow what a start
	// takes there in addition.
	failUntil, slow map[string]time.Duration
	// unready is until when a pod stays not ready.
	unready map[types.UID]time.Duration
	// stale are the pods that were updated in place and are yet to restart.
	stale map[types.UID]bool
}

var _ model.Kubelets = (*kubelets)(nil)

func newKubelets(world *model.World, config Kubelets) *kubelets {
	return &kubelets{
		Kubelets: config, world: world, random: world.Random("kubelets"),
		failUntil: make(map[string]time.Duration), slow: make(map[string]time.Duration),
		unready: make(map[types.UID]time.Duration), stale: make(map[types.UID]bool),
	}
}

// Start implements [model.Kubelets].
func (*kubelets) Start(*model.Machine) {}

// Complete implements [model.Kubelets].
func (*kubelets) Complete(*corev1.Pod) {}

// Speak implements [model.Kubelets].
func (*kubelets) Speak(*model.Machine) {}

// Reached has the pods of a machine go on that is back.
func (k *kubelets) Reached(m *model.Machine) {
	if m.Reaches() {
		k.visit(m.Name)
	}
}

// SawNode has the pods of a node go on by and by.
func (k *kubelets) SawNode(m *model.Machine, _ *corev1.Node) {
	k.world.After(seesNode.Pick(k.random), func() { k.visit(m.Name) })
}

// SawPod plans what happens to a pod next.
func (k *kubelets) SawPod(before, after *corev1.Pod) {
	if after == nil {
		return
	}
	if before != nil && invariant.UpdatedInPlace(before, after) {
		k.stale[after.UID] = true
	}
	k.plan(after)
}

// visit has all pods of a node go on.
func (k *kubelets) visit(node string) {
	for _, pod := range k.world.Pods() {
		if pod.Spec.NodeName == node {
			k.plan(pod)
		}
	}
}

// plan plans what happens to a pod next. A pod that has changed again by then
// goes on from what it is then.
func (k *kubelets) plan(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	slow := k.slow[pod.Spec.NodeName]
	running := pod.Status.Phase == corev1.PodRunning
	switch {
	case pod.DeletionTimestamp != nil:
		k.later(pod, k.Stop.Pick(k.random), k.stop)
	case pod.Status.Phase == corev1.PodPending:
		k.later(pod, k.Begin.Pick(k.random)+slow, k.begin)
	case running && k.stale[pod.UID]:
		// It takes more than a second, so that the condition shows it.
		k.later(pod, time.Second+k.Begin.Pick(k.random)+slow, k.restart)
	case running && !model.PodReady(pod):
		k.later(pod, k.Ready.Pick(k.random)+slow, k.ready)
	}
}

// later does something with a pod, if its kubelet works then.
func (k *kubelets) later(pod *corev1.Pod, wait time.Duration, do func(*model.Machine, *corev1.Pod)) {
	k.world.After(wait, func() {
		m, now := k.world.Machine(pod.Spec.NodeName), k.world.Pod(pod.Name)
		if now != nil && now.UID == pod.UID && m != nil && m.Reaches() && m.Node() != nil {
			do(m, now)
		}
	})
}

func (k *kubelets) stop(m *model.Machine, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		_ = m.DeletePod(pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	}
}

// begin starts the containers of a pod, or fails.
func (k *kubelets) begin(m *model.Machine, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	phase := corev1.PodRunning
	if k.failUntil[m.Name] > k.world.Elapsed() {
		phase = corev1.PodFailed
	}
	k.report(pod, phase)
}

// restart ends the containers of a pod that was updated in place.
func (k *kubelets) restart(_ *model.Machine, pod *corev1.Pod) {
	if k.stale[pod.UID] && pod.DeletionTimestamp == nil {
		delete(k.stale, pod.UID)
		k.report(pod, corev1.PodRunning, k.readiness(corev1.ConditionFalse))
	}
}

// ready makes a pod ready, unless its image is broken.
func (k *kubelets) ready(m *model.Machine, pod *corev1.Pod) {
	broken := strings.Contains(pod.Spec.Containers[0].Image, k.Broken)
	if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || model.PodReady(pod) || broken {
		return
	}
	if rest := k.unready[pod.UID] - k.world.Elapsed(); rest > 0 {
		k.world.After(rest, func() { k.visit(m.Name) })
		return
	}
	k.report(pod, corev1.PodRunning, k.readiness(corev1.ConditionTrue))
}

// makeUnready has a pod be not ready for a time.
func (k *kubelets) makeUnready(pod *corev1.Pod, lasts time.Duration) {
	if model.PodReady(pod) {
		k.unready[pod.UID] = k.world.Elapsed() + lasts
		k.report(pod, pod.Status.Phase, k.readiness(corev1.ConditionFalse))
	}
}

func (k *kubelets) readiness(status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(k.world.Now().Truncate(time.Second)),
	}
}

// report stores the status of a pod.
func (k *kubelets) report(pod *corev1.Pod, phase corev1.PodPhase, conditions ...corev1.PodCondition) {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase, "conditions": conditions}})
	if err != nil {
		panic(err) // a status can be encoded
	}
	_, _ = k.world.Users().Server.Patch(k.world.Now(), network.Pods.Resource(), apiserver.KeyOf(pod),
		types.MergePatchType, patch, apiserver.WriteOptions{Subresource: "status"})
}
