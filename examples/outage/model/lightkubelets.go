package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lightKubelets are the model's own kubelets. They are a few rules, so that a
// million pods are simulated in minutes. The package comment says what they
// leave out.
type lightKubelets struct{ world *World }

var _ Kubelets = lightKubelets{}

const (
	// beatJitter is by how much a kubelet may lengthen its interval. Source:
	// k8s.io/component-helpers/apimachinery/lease v0.37.
	beatJitter = 0.04
	// stopSeconds is how long a pod takes to stop, startAfter how long to start.
	stopSeconds = int64(1)
	startAfter  = 2 * time.Second
	// syncAfter is how long a kubelet takes to see that another client has written
	// its pods' status.
	syncAfter = time.Second
)

// Start has the first heartbeat fall somewhere in the first interval.
func (k lightKubelets) Start(m *Machine) {
	m.beat = m.nextBeat
	k.world.After(time.Duration(m.random.Int64N(int64(k.world.config.BeatInterval))), m.beat)
}

// Speak renews the lease, and reports the status if it differs from what the
// API server has or was not reported for long.
func (k lightKubelets) Speak(m *Machine) {
	if m.registered == "" || m.RenewLease() != nil {
		return
	}
	if m.reported == never || k.world.Elapsed()-m.reported >= k.world.config.StatusInterval || m.misreported() {
		m.report()
	}
}

// Reached does what could not be done while the machine was cut off.
func (k lightKubelets) Reached(m *Machine) {
	if !m.Reaches() {
		return
	}
	for _, record := range slices.Clone(m.pods) {
		k.SawPod(record.object, record.object)
	}
}

// SawNode does nothing: a kubelet compares the node with its status when it
// speaks.
func (lightKubelets) SawNode(*Machine, *corev1.Node) {}

// Complete does nothing: containers do not matter.
func (lightKubelets) Complete(*corev1.Pod) {}

// SawPod makes the kubelet of a pod's machine do what the pod needs: stop it,
// start it, or say again that it is ready.
func (k lightKubelets) SawPod(before, pod *corev1.Pod) {
	if pod == nil {
		return
	}
	w := k.world
	m := w.machine[pod.Spec.NodeName]
	if m == nil || !m.Reaches() {
		return
	}
	switch {
	case pod.DeletionTimestamp != nil:
		if before == pod || before == nil || before.DeletionTimestamp == nil {
			w.After(time.Duration(stopSeconds)*time.Second, func() { m.stopPod(pod) })
		}
	case PodReady(pod): // as all pods are at first
	case before == nil || before.Spec.NodeName == "":
		w.After(startAfter, func() { m.startPod(pod) })
	default:
		w.After(syncAfter, func() { m.startPod(pod) })
	}
}

// nextBeat is the kubelet's loop.
func (m *Machine) nextBeat() {
	interval := m.world.config.BeatInterval
	m.world.After(interval+time.Duration(beatJitter*m.random.Float64()*float64(interval)), m.beat)
	m.world.kubelets.Speak(m)
}

// misreported reports whether the API server has other conditions than the
// kubelet.
func (m *Machine) misreported() bool {
	if m.node == m.agreed {
		return false
	}
	stored := m.node.Status.Conditions
	if len(stored) < len(conditions) {
		return true
	}
	for i := range stored {
		if stored[i].Status != m.status(stored[i].Type) {
			return true
		}
	}
	m.agreed = m.node
	return false
}

// stopPod removes a pod that has stopped. If the machine is cut off by now, it
// does so when it is back.
func (m *Machine) stopPod(pod *corev1.Pod) {
	current := m.world.Pod(pod.Name)
	if current == nil || current.UID != pod.UID || !m.Reaches() {
		return
	}
	m.world.dropPod(pod.Name)
}

// startPod says that a pod is ready.
func (m *Machine) startPod(pod *corev1.Pod) {
	current := m.world.Pod(pod.Name)
	if current == nil || current.UID != pod.UID || current.DeletionTimestamp != nil || !m.Reaches() || PodReady(current) {
		return
	}
	now := metav1.NewTime(m.Clock().Truncate(time.Second))
	after := withCondition(current, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now,
	})
	after.Status.Phase = corev1.PodRunning
	m.world.putPod(after)
}
