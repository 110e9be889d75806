package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// DisruptionBudget is a PodDisruptionBudget of a workload's pods, with
// minAvailable as a number and the default policy for pods that are not ready.
// Its status is what the disruption controller wrote last, so it is a little
// behind. In between the API server counts it down as it lets pods go.
type DisruptionBudget struct {
	MinAvailable int
	// Allowed is how many pods that are ready may be evicted now, Healthy how many
	// the disruption controller has counted.
	Allowed, Healthy int
	// AllowedSince is since when Allowed has been more than zero without a break,
	// and EnoughSince since when Healthy is not below MinAvailable. Negative: it
	// is not so.
	AllowedSince, EnoughSince time.Duration

	owner *Workload
	// object is what the API server has.
	object *policyv1.PodDisruptionBudget
	// pods are those of the workload that are not terminating.
	pods    map[string]*corev1.Pod
	planned bool
}

// Facts of the disruption controller v1.37.1, pkg/controller/disruption.
const (
	// disruptedFor is how long a pod that was let go and is not terminating is not
	// counted.
	disruptedFor = 2 * time.Minute
)

// budgetDelay is how long the disruption controller takes to see a pod and to
// write a status.
var budgetDelay = network.Span{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond}

// Protect gives a workload a PodDisruptionBudget. To be called before it has
// pods.
func (o *Workload) Protect(minAvailable int) *DisruptionBudget {
	o.Budget = &DisruptionBudget{
		MinAvailable: minAvailable,
		AllowedSince: never,
		EnoughSince:  never,
		owner:        o,
		pods:         make(map[string]*corev1.Pod),
	}
	available := intstr.FromInt(minAvailable)
	o.world.commit(apiserver.Change{Resource: budgetResource, Key: podKey(o.Name), Next: &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: o.Name, Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &available,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{OwnerLabel: o.Name}},
		},
	}})
	return o.Budget
}

// podChanged makes the disruption controller look at a pod.
func (b *DisruptionBudget) podChanged(before, after *corev1.Pod) {
	if after == nil || after.DeletionTimestamp != nil {
		delete(b.pods, before.Name)
	} else {
		b.pods[after.Name] = after
	}
	b.syncAfter(budgetDelay.Pick(b.owner.budgetRandom))
}

func (b *DisruptionBudget) syncAfter(wait time.Duration) {
	if b.planned {
		return
	}
	b.planned = true
	b.owner.world.After(wait, b.sync)
}

// sync counts the pods and writes the status. A pod that was let go and is
// still there is not counted as available for a while.
func (b *DisruptionBudget) sync() {
	b.planned = false
	w := b.owner.world
	disrupted := make(map[string]metav1.Time)
	recheck := never
	for name, at := range b.object.Status.DisruptedPods {
		until := at.Sub(w.config.Start) + disruptedFor
		if b.pods[name] == nil || w.Elapsed() >= until {
			continue
		}
		disrupted[name] = at
		if recheck == never || until < recheck {
			recheck = until
		}
	}
	healthy := 0
	for name, pod := range b.pods {
		if _, gone := disrupted[name]; !gone && PodReady(pod) {
			healthy++
		}
	}
	b.write(healthy, disrupted)
	if recheck != never {
		w.At(recheck, func() { b.syncAfter(0) })
	}
}

// write stores the status, if it is another one.
func (b *DisruptionBudget) write(healthy int, disrupted map[string]metav1.Time) {
	after := *b.object
	after.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: after.Generation, ExpectedPods: int32(len(b.pods)),
		CurrentHealthy: int32(healthy), DesiredHealthy: int32(b.MinAvailable),
		DisruptionsAllowed: int32(max(healthy-b.MinAvailable, 0)), DisruptedPods: disrupted,
	}
	if !equality.Semantic.DeepEqual(b.object.Status, after.Status) {
		b.owner.world.commit(apiserver.Change{
			Resource: budgetResource, Key: podKey(b.owner.Name), Old: b.object, Next: &after,
		})
	}
}

// changed takes over what the API server has now. If it has let a pod go, the
// disruption controller will count again.
func (b *DisruptionBudget) changed(call *network.Call, object *policyv1.PodDisruptionBudget) {
	b.object = object
	b.Healthy, b.Allowed = int(object.Status.CurrentHealthy), int(object.Status.DisruptionsAllowed)
	now := b.owner.world.Elapsed()
	b.AllowedSince = since(b.AllowedSince, now, b.Allowed > 0)
	b.EnoughSince = since(b.EnoughSince, now, b.Healthy >= b.MinAvailable && b.MinAvailable > 0)
	if call != nil {
		b.syncAfter(budgetDelay.Pick(b.owner.budgetRandom))
	}
}

func since(before, now time.Duration, holds bool) time.Duration {
	switch {
	case !holds:
		return never
	case before == never:
		return now
	}
	return before
}

// Budget returns the PodDisruptionBudget of a pod, or nil.
func (w *World) Budget(pod *corev1.Pod) *DisruptionBudget {
	if owner := w.workload[pod.Labels[OwnerLabel]]; owner != nil {
		return owner.Budget
	}
	return nil
}

// ReasonEvicted is the reason of the condition DisruptionTarget of pods that
// leave through the Eviction API.
const ReasonEvicted = apiserver.ReasonEvicted

// Refused reports whether a budget has refused the eviction that a call asked
// for.
func Refused(call *network.Call) bool {
	return call.Verb == network.Evict && apierrors.HasStatusCause(call.Err, policyv1.DisruptionBudgetCause)
}
