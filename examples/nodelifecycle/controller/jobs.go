package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Actions do what a [Controller] hands out. All are required. Each but Evict and
// Record sends one request.
//
// An object that the API server has returned the controller must have observed
// before the action returns, unless it has observed a newer one.
type Actions struct {
	ReadLeases func(context.Context, LeaseRead) Leases
	Declare    func(context.Context, Declaration) Result[*corev1.Node]
	ChangeNode func(context.Context, NodeChange) Result[*corev1.Node]
	MarkPod    func(context.Context, PodMark) Result[*corev1.Pod]
	Evict      eviction.Action
	Record     func(context.Context, Record) struct{}
}

// turns are the jobs of a controller. Before each it applies what time and
// answers have changed.
type turns struct {
	*Controller

	sources timedqueue.Source[timedqueue.Job]
}

func (c turns) Start(now time.Time) (timedqueue.Job, bool) {
	if !c.objects.synced || c.prepare(now) {
		return timedqueue.Job{}, false
	}
	return c.sources.Start(now)
}

func (c turns) Next(now time.Time) (time.Time, bool) {
	if !c.objects.synced {
		return time.Time{}, false
	}
	next, ok := c.sources.Next(now)
	for _, wait := range []func(time.Time) (time.Time, bool){c.nextPreparation, c.silences.health.Next} {
		if at, waits := wait(now); waits && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}
