//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// mutation is a deliberate fault of the library: in a file, what stands there
// and what is put in its place.
type mutation struct {
	name      string
	file      string // from the repository's root
	old, with string
	// caughtBy is the invariant that has to catch it.
	caughtBy invariant.Invariant
	// in is the worlds that show it, from seed first on. It is 1 unless those
	// before are known not to show it and cost much.
	in    worlds
	first uint64
}

// mutations are faults that controllers of this kind have had, among them those
// of kube-controller-manager that the packages list. Each has to be caught.
var mutations = []mutation{
	{
		name: "a token is spent while nothing is due",
		file: "timedqueue/start.go",
		old: `	opened := k.open.first()
`,
		with: `	opened := k.open.first()
	for _, b := range q.keyed {
		for _, s := range b.shares {
			if wait, ok := s.bucket.until(q.now); first == nil && s.items == 0 && ok && wait == 0 {
				s.bucket.settle(q.now, s.bucket.take(q.now), false)
			}
		}
	}
`,
		caughtBy: invariant.NoIdleToken,
	},
	{
		name: "adding a node again puts it at the end",
		file: "examples/nodelifecycle/controller/write.go",
		old: `	c.planRelease(n)
`,
		with: `	if !n.state.holdsToken() {
		c.leaveReleases(n)
	}
	c.planRelease(n)
	if n.turn.Before(now) && !n.state.holdsToken() {
		c.releases.Reschedule(n.object.Name, now)
	}
`,
		caughtBy: invariant.InOrder,
	},
	{
		name:     "a restart starts tolerations again",
		file:     "eviction/clock.go",
		old:      `	case stored.IsZero():`,
		with:     `	case stored.IsZero() || s.current.IsZero():`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "a pod's name is taken for its identity",
		file:     "eviction/act.go",
		old:      `pods.Delete(ctx, task.Pod.Name, metav1.DeleteOptions{Preconditions: preconditions})`,
		with:     `pods.Delete(ctx, task.Pod.Name, metav1.DeleteOptions{})`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name: "nothing is decided again between mark and delete",
		file: "eviction/act.go",
		old: `	case r.task.Canceled():
		return Result{Outcome: OutcomeNotDue}, true
	case r.pod == nil:`,
		with: `	case false:
		return Result{Outcome: OutcomeNotDue}, true
	case r.pod == nil:`,
		caughtBy: invariant.NeverEarly,
		first:    870,
	},
	{
		name: "an eviction is given up after five tries",
		file: "eviction/start.go",
		old: `		t.failed(now, e, a, outcome, result)
`,
		with: `		t.failed(now, e, a, outcome, result)
		if !a.clears() && t.history(e.Key()).attempts >= 5 {
			return leaving
		}
`,
		caughtBy: invariant.InTime,
		first:    620,
	},
	{
		name:     "tainted nodes are untainted at the start",
		file:     "examples/nodelifecycle/controller/taint.go",
		old:      `	if n.ready == "" || !notReady && !c.health.HasHeartbeat(n.object.Name) {`,
		with:     `	if false {`,
		caughtBy: invariant.UntaintedByABeat,
	},
	{
		name: "a node that moves goes on to wait for the zone that it left",
		file: "examples/nodelifecycle/controller/observe.go",
		old: `		c.releases.Refile(e)
`,
		with: `		_ = e
`,
		caughtBy: invariant.NoIdleToken,
	},
	{
		name: "a full disruption forgets the timers",
		file: "eviction/suspend.go",
		old: `	t.suspended = suspended
`,
		with: `	t.suspended = suspended
	if suspended != nil {
		t.suspended = func(*corev1.Taint) bool { return true }
	}
`,
		caughtBy: invariant.InTime,
		first:    310,
	},
	{
		name: "any write to a node is a heartbeat",
		file: "nodehealth/node.go",
		old:  `	if ready == nil || declaredByObserver(ready) {`,
		with: `	m.monitor.beat(now, &n.record)
	if ready == nil || declaredByObserver(ready) {`,
		caughtBy: invariant.DeclaredInTime,
	},
	{
		name:     "a toleration begins before the pod has arrived",
		file:     "eviction/deadline.go",
		old:      `			start := later(taint.Start, pod.Arrived)`,
		with:     `			start := taint.Start`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name: "a disrupted zone keeps its rate",
		file: "examples/nodelifecycle/controller/zones.go",
		old:  `		c.releases.SetLimit(now, zoneBudget, change.Zone, rate.Limit(change.Rate))`,
		with: `		if change.Rate > 0 {
			c.releases.SetLimit(now, zoneBudget, change.Zone, rate.Limit(change.Rate))
		}`,
		caughtBy: invariant.WithinRate,
	},
	{
		name: "nodes are acted against as soon as one zone is back",
		file: "zone/evaluate.go",
		old: `		t.recoveryEnd = t.now.Add(t.config.StabilizationWindow)
`,
		with:     ``,
		caughtBy: invariant.SparedInOutage,
	},
	{
		name: "taints are written over what others have written",
		file: "taints/patch.go",
		old: `		{"test", "/spec/taints", current},
`,
		with:     ``,
		in:       hostile,
		caughtBy: invariant.OthersUntouched,
		first:    350,
	},
	{
		name:     "what the live read of a lease says is ignored",
		file:     "nodehealth/node.go",
		old:      `	if !ok || version == "" || version == n.lease.version`,
		with:     `	if !ok || version != "" || version == n.lease.version`,
		caughtBy: invariant.NotDeclaredAlive,
	},
	{
		name: "an eviction that has succeeded is forgotten",
		file: "eviction/start.go",
		old: `		delete(t.histories, e.Key())
		return leaving
`,
		with: `		delete(t.histories, e.Key())
`,
		caughtBy: invariant.NotTwice,
	},
	{
		name:     "a pod that was recreated under its name is remembered for ever",
		file:     "timedqueue/feed/handler.go",
		old:      `replaced.GetUID() != updated.GetUID() {`,
		with:     `replaced.GetUID() == "" {`,
		caughtBy: invariant.NothingLeft,
	},
	{
		name:     "a mark that has become moot stays",
		file:     "eviction/decide.go",
		old:      `	leaves, clears := r.leaves(), e.Value().marked && !r.dueAt(now)`,
		with:     `	leaves, clears := r.leaves(), false && e.Value().marked && !r.dueAt(now)`,
		caughtBy: invariant.MarkTakenBack,
	},
	{
		name:     "a pod that could not be marked not ready is not tried again",
		file:     "examples/nodelifecycle/controller/finish.go",
		old:      `known && result.Pod != nil {`,
		with:     `known {`,
		caughtBy: invariant.PodsNotReady,
		first:    520,
	},
	{
		name:     "a pod that terminates on a silent node stays ready",
		file:     "examples/nodelifecycle/controller/pod.go",
		old:      `	case !n.notReady(), p.marked == n.episode:`,
		with:     `	case !n.notReady(), p.marked == n.episode, p.object.DeletionTimestamp != nil:`,
		caughtBy: invariant.PodsNotReady,
	},
	{
		name:     "time in which no node could be heard counts as its silence",
		file:     "nodehealth/sight.go",
		old:      `		s.blind += gap`,
		with:     `		_ = gap`,
		caughtBy: invariant.NotDeclaredAlive,
	},
	{
		name:     "what cannot be heard is acted on",
		file:     "examples/nodelifecycle/controller/zones.go",
		old:      `case evaluation.Phase == zone.PhaseHolding, !c.health.Sight(now).Counts():`,
		with:     `case evaluation.Phase == zone.PhaseHolding:`,
		caughtBy: invariant.SparedInOutage,
		first:    6050,
	},
	{
		name:     "a window passes in which nothing could be heard",
		file:     "zone/evaluate.go",
		old:      `		t.Stabilize(now)`,
		with:     `		_ = now`,
		caughtBy: invariant.SparedInOutage,
	},
	{
		name:     "one look at the zones is enough",
		file:     "zone/tracker.go",
		old:      `m.zone.extentKnownAt(t.now, t.observationWindow).Sub(t.epoch)`,
		with:     `t.now.Add(0 * m.zone.extentKnownAt(t.now, t.observationWindow).Sub(t.now)).Sub(t.epoch)`,
		caughtBy: invariant.KnownFirst,
	},
	{
		name: "a change of tolerations is not seen",
		file: "eviction/observe.go",
		old: `	p.tolerations = observed.Spec.Tolerations
`,
		with: `	if p.tolerations == nil {
		p.tolerations = observed.Spec.Tolerations
	}
`,
		caughtBy: invariant.InTime,
		first:    500,
	},
	{
		name:     "a node that changes often waits without end",
		file:     "examples/nodelifecycle/controller/pace.go",
		old:      `Max: longestWait}`,
		with:     `Max: 4 * longestWait}`,
		caughtBy: invariant.Recovered,
	},
	{
		name:     "what protects pods waits as long as all else",
		file:     "examples/nodelifecycle/controller/pace.go",
		old:      `		wait = min(wait, longestProtectiveWait)`,
		with:     `		_ = longestProtectiveWait`,
		caughtBy: invariant.Recovered,
	},
}
