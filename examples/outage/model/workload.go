package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Replacement says when the owner of a pod that goes makes another one.
type Replacement int

const (
	// AtOnce: when it is told to leave, with another name, on any node. Like a
	// Deployment.
	AtOnce Replacement = iota
	// OnceGone: when it is gone, with its name, on any node. Like a StatefulSet.
	OnceGone
	// InPlace: when it is gone, with another name, on its node. Like a DaemonSet.
	InPlace
	// Never: it has no owner.
	Never
	// ByProcess: a process in the world makes other pods, whose label names their
	// owner. Like a DaemonSet with its controller.
	ByProcess
)

// kind returns that of the owner, empty if there is none.
func (r Replacement) kind() string {
	return map[Replacement]string{AtOnce: "ReplicaSet", OnceGone: "StatefulSet", InPlace: "DaemonSet"}[r]
}

// Workload owns pods.
type Workload struct {
	Name        string
	Replacement Replacement
	// Tolerations of its pods. They are shared and not modified.
	Tolerations []corev1.Toleration
	// Priority of its pods; nil is none.
	Priority *int32
	// Budget is its PodDisruptionBudget, nil if it has none; see Protect.
	Budget *DisruptionBudget
	// Fits says on which machines its pods may be scheduled; nil is on all. Where
	// it is set, or pods tolerate NoSchedule, taints are matched one by one.
	Fits func(*Machine) bool

	world                *World
	random, budgetRandom *rand.Rand
	references           []metav1.OwnerReference // of its pods, which share them and labels
	labels               map[string]string
	made                 int // pods so far
}

// OwnerLabel of a pod names the workload that it belongs to.
const OwnerLabel = "app"

// replaceAfter is how long an owner takes to see that a pod goes.
var replaceAfter = network.Span{Min: 50 * time.Millisecond, Max: 500 * time.Millisecond}

// daemonRetry is how long the owner of a DaemonSet's pods waits for a node that
// does not exist, and any owner before it replaces a pod that has failed.
const daemonRetry = 10 * time.Second

// AddWorkload adds an owner without pods.
func (w *World) AddWorkload(name string, replacement Replacement, tolerations []corev1.Toleration) *Workload {
	owner := &Workload{
		Name: name, Replacement: replacement, Tolerations: tolerations, world: w,
		random: w.Network.Random("workload/" + name), budgetRandom: w.Random("budget/" + name),
		labels: map[string]string{OwnerLabel: name},
	}
	if kind := replacement.kind(); kind != "" {
		owner.references = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
	w.workloads = append(w.workloads, owner)
	w.workload[name] = owner
	return owner
}

// BelongsTo gives the pods that are placed from now on an owner and further
// labels.
func (o *Workload) BelongsTo(owner metav1.OwnerReference, labels map[string]string) {
	o.references = []metav1.OwnerReference{owner}
	o.labels = maps.Clone(o.labels)
	maps.Copy(o.labels, labels)
}

// Workload returns an owner by its name, or nil.
func (w *World) Workload(name string) *Workload { return w.workload[name] }

// Pods returns the owner's pods by name.
func (o *Workload) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range o.world.Pods() {
		if pod.Labels[OwnerLabel] == o.Name {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Place makes a pod that is on a node and ready from the beginning.
func (o *Workload) Place(node string) {
	pod := o.pod(o.nextName())
	o.world.bind(pod, node)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp,
	})
	o.world.kubelets.Complete(pod)
	o.world.putPod(pod)
}

// WorkloadOf returns the name of the workload that owns a pod.
func WorkloadOf(pod *corev1.Pod) string { return pod.Labels[OwnerLabel] }

func (o *Workload) nextName() string {
	o.made++
	return o.Name + "-" + strconv.Itoa(o.made-1)
}

// pod returns a pod that is on no node.
func (o *Workload) pod(name string) *corev1.Pod {
	w := o.world
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         Namespace,
			Name:              name,
			UID:               types.UID(name + "-" + strconv.FormatUint(w.nextSerial(), 10)),
			CreationTimestamp: metav1.NewTime(w.Now().Truncate(time.Second)),
			Labels:            o.labels,
			OwnerReferences:   o.references,
		},
		Spec: corev1.PodSpec{
			Tolerations: o.Tolerations, Priority: o.Priority, TerminationGracePeriodSeconds: &w.stopSeconds,
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	w.kubelets.Complete(pod)
	return pod
}

// bind puts a pod on a node.
func (w *World) bind(pod *corev1.Pod, node string) {
	pod.Spec.NodeName = node
	pod.Status.Conditions = append(slices.Grow(pod.Status.Conditions, 2), corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(w.Now().Truncate(time.Second)),
	})
}

// podChanged has the owner, or the scheduler, do what a change of a pod asks for.
func (o *Workload) podChanged(before, after *corev1.Pod) {
	if o.Budget != nil {
		o.Budget.podChanged(before, after)
	}
	switch {
	case before == nil && o.Replacement == ByProcess && after.Spec.NodeName == "":
		o.world.schedule(after)
	case before != nil && o.Replacement != ByProcess:
		o.replace(before, after)
	}
}

// replace makes another pod in the place of one that goes or has failed.
func (o *Workload) replace(before, after *corev1.Pod) {
	if failed(after) && !failed(before) {
		o.world.After(daemonRetry, func() { o.removeFailed(after) })
	}
	leaves := after == nil || after.DeletionTimestamp != nil
	left := before.DeletionTimestamp != nil
	wait := replaceAfter.Pick(o.random)
	switch o.Replacement {
	case AtOnce:
		if leaves && !left {
			o.world.After(wait, func() { o.create(o.nextName()) })
		}
	case OnceGone:
		if after == nil {
			o.world.After(wait, func() { o.create(before.Name) })
		}
	case InPlace:
		if after == nil {
			o.world.After(wait, func() { o.createOn(before.Spec.NodeName) })
		}
	case Never, ByProcess:
	}
}

// failed reports whether a pod has failed by itself: its node has not admitted
// it. The model's own kubelets admit all.
func failed(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodFailed
}

// removeFailed deletes a pod that has failed, so that the next one comes. Bare
// pods stay.
func (o *Workload) removeFailed(pod *corev1.Pod) {
	if current := o.world.Pod(pod.Name); o.Replacement != Never && current != nil && current.UID == pod.UID {
		o.world.DeletePod(pod.Name)
	}
}

func (o *Workload) create(name string) {
	pod := o.pod(name)
	o.world.putPod(pod)
	o.world.schedule(pod)
}

func (o *Workload) createOn(node string) {
	if o.world.Node(node) == nil {
		o.world.After(daemonRetry, func() { o.createOn(node) })
		return
	}
	pod := o.pod(o.nextName())
	o.world.bind(pod, node)
	o.world.putPod(pod)
}

// DeletePod makes a user delete a pod.
func (w *World) DeletePod(name string) {
	_, err := w.server.rules.Delete(w.Now(), podResource, podKey(name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		panic(fmt.Sprintf("model: delete pod %s: %v", name, err))
	}
}

// Tolerate gives a pod other tolerations.
func (w *World) Tolerate(name string, tolerations []corev1.Toleration) {
	pod := w.Pod(name)
	if pod == nil {
		return
	}
	after := *pod
	after.Spec.Tolerations = tolerations
	w.putPod(&after)
}
