package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// pods are those of the workload that are not terminating.
	pods map[string]*corev1.Pod
	// disrupted are pods that the API server has let go, and when. One that is
	// still there is not counted as available for a while.
	disrupted map[string]time.Duration
	planned   bool
}

// Facts of the disruption controller v1.37.1, pkg/controller/disruption.
const (
	// disruptedFor is how long a pod that was let go and is not terminating is not
	// counted.
	disruptedFor = 2 * time.Minute
)

// budgetDelay is how long the disruption controller takes to see a pod and to
// write a status.
var budgetDelay = Span{20 * time.Millisecond, 200 * time.Millisecond}

// Protect gives a workload a PodDisruptionBudget. To be called before it has
// pods.
func (o *Workload) Protect(minAvailable int) *DisruptionBudget {
	o.Budget = &DisruptionBudget{
		MinAvailable: minAvailable,
		AllowedSince: never,
		EnoughSince:  never,
		owner:        o,
		pods:         make(map[string]*corev1.Pod),
		disrupted:    make(map[string]time.Duration),
	}
	o.Budget.write(0, 0)
	return o.Budget
}

// podChanged makes the disruption controller look at a pod.
func (b *DisruptionBudget) podChanged(before, after *corev1.Pod) {
	if after == nil || after.DeletionTimestamp != nil {
		delete(b.pods, before.Name)
	} else {
		b.pods[after.Name] = after
	}
	b.syncAfter(budgetDelay.pick(b.owner.budgetRandom))
}

func (b *DisruptionBudget) syncAfter(wait time.Duration) {
	if b.planned {
		return
	}
	b.planned = true
	b.owner.world.After(wait, b.sync)
}

// sync counts the pods and writes the status.
func (b *DisruptionBudget) sync() {
	b.planned = false
	now := b.owner.world.now
	recheck := never
	for name, at := range b.disrupted {
		if b.pods[name] == nil || now >= at+disruptedFor {
			delete(b.disrupted, name)
		} else if recheck == never || at+disruptedFor < recheck {
			recheck = at + disruptedFor
		}
	}
	healthy := 0
	for name, pod := range b.pods {
		if _, disrupted := b.disrupted[name]; !disrupted && podReady(pod) {
			healthy++
		}
	}
	b.write(healthy, max(healthy-b.MinAvailable, 0))
	if recheck != never {
		b.owner.world.At(recheck, func() { b.syncAfter(0) })
	}
}

// write stores the status.
func (b *DisruptionBudget) write(healthy, allowed int) {
	b.Healthy, b.Allowed = healthy, allowed
	now := b.owner.world.now
	b.AllowedSince = since(b.AllowedSince, now, allowed > 0)
	b.EnoughSince = since(b.EnoughSince, now, healthy >= b.MinAvailable && b.MinAvailable > 0)
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

// allows decides about an eviction, and counts it. One of a pod that is not
// ready costs nothing, if there are enough of those that are.
func (b *DisruptionBudget) allows(pod *corev1.Pod) bool {
	if !podReady(pod) && b.EnoughSince != never {
		return true
	}
	if b.Allowed == 0 {
		return false
	}
	b.write(b.Healthy, b.Allowed-1)
	b.disrupted[pod.Name] = b.owner.world.now
	b.syncAfter(budgetDelay.pick(b.owner.budgetRandom))
	return true
}

// Budget returns the PodDisruptionBudget of a pod, or nil.
func (w *World) Budget(pod *corev1.Pod) *DisruptionBudget {
	if owner := w.workload[pod.Labels[ownerLabel]]; owner != nil {
		return owner.Budget
	}
	return nil
}

// begun reports whether a pod was ever started: else it is pending. The model
// keeps no phases; a kubelet's first report has the condition Ready.
func begun(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
}
