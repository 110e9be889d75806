//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// mutation is a deliberate fault of the library: in a file, what stands there and
// what is put in its place.
type mutation struct {
	name      string
	file      string // from the repository's root
	old, with string
	// caughtBy is the invariant that has to catch it.
	caughtBy invariant.Invariant
}

// mutations are faults that controllers of this kind have had, among them those of
// kube-controller-manager that README names. Each has to be caught.
var mutations = []mutation{
	{
		name: "a token is spent while nothing is due",
		file: "timedqueue/group.go",
		old: `		if time.Duration(first.due) > now.Sub(g.epoch) {
			break`,
		with: `		if time.Duration(first.due) > now.Sub(g.epoch) {
			first.element.queue.bucket.Take(now.Sub(g.epoch))
			break`,
		caughtBy: invariant.NoIdleToken,
	},
	{
		name: "adding a node again puts it at the end",
		file: "examples/nodelifecycle/controller/node.go",
		old: `		due := c.releaseAt(n)
`,
		with: `		due := c.releaseAt(n)
		if n.release == nil {
			c.releases.Remove(name)
		}
		if due.Before(now) {
			due = now
		}
`,
		caughtBy: invariant.InOrder,
	},
	{
		name:     "a restart starts tolerations anew",
		file:     "eviction/deadline.go",
		old:      `	if stored.IsZero() || stored.After(seen) {`,
		with:     `	if stored.IsZero() || stored.After(seen) || !appeared {`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "a pod's name is taken for its identity",
		file:     "eviction/delete.go",
		old:      `metav1.DeleteOptions{Preconditions: preconditions}`,
		with:     `metav1.DeleteOptions{}`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name:     "nobody looks again between mark and delete",
		file:     "eviction/delete.go",
		old:      `	case work.CalledOff():`,
		with:     `	case false:`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name: "an eviction is given up after five tries",
		file: "eviction/work.go",
		old: `	case NotDue, Failed, Blocked:
`,
		with: `	case NotDue, Blocked:
	case Failed:
		p.gone = p.gone || e.attempt.tries >= 4
`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "tainted nodes are untainted at the start",
		file:     "examples/nodelifecycle/controller/node.go",
		old:      `	if n.ready == "" || !ill && !c.health.Heard(n.object.Name) {`,
		with:     `	if false {`,
		caughtBy: invariant.UntaintedByABeat,
	},
	{
		name: "a node that moves comes into a queue that does not exist",
		file: "examples/nodelifecycle/controller/node.go",
		old:  `			c.releases.Move(name, n.zone)`,
		with: `			if _, in, _ := c.releases.Get(name); in != n.zone {
				c.releases.Move(name, "none")
			}`,
		caughtBy: invariant.NoIdleToken,
	},
	{
		name:     "a full disruption forgets the timers",
		file:     "examples/nodelifecycle/controller/controller.go",
		old:      `		c.evictions.Hold(now, taints.OwnsNoExecute)`,
		with:     `		c.evictions.Hold(now, func(t *corev1.Taint) bool { return true || taints.OwnsNoExecute(t) })`,
		caughtBy: invariant.InTime,
	},
	{
		name: "any write to a node is a heartbeat",
		file: "nodehealth/monitor.go",
		old:  `	if ready == nil || declaredByObserver(ready) {`,
		with: `	m.beat(now, node.Name, v)
	if ready == nil || declaredByObserver(ready) {`,
		caughtBy: invariant.DeclaredInTime,
	},
	{
		name:     "a toleration begins before the pod has arrived",
		file:     "eviction/deadline.go",
		old:      `end(later(taint.Start, pod.Arrived), due, *toleration.TolerationSeconds)`,
		with:     `end(taint.Start, due, *toleration.TolerationSeconds)`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name: "a disrupted zone keeps its rate",
		file: "examples/nodelifecycle/controller/controller.go",
		old:  `		c.releases.SetLimit(now, change.Zone, rate.Limit(change.Rate))`,
		with: `		if change.Rate > 0 {
			c.releases.SetLimit(now, change.Zone, rate.Limit(change.Rate))
		}`,
		caughtBy: invariant.WithinRate,
	},
	{
		name: "nodes are acted against as soon as one zone is back",
		file: "zone/judge.go",
		old: `		t.resume = t.now.Add(t.config.Grace)
		return Settling`,
		with:     `		return Acting`,
		caughtBy: invariant.SparedInOutage,
	},
	{
		name: "taints are written over what others have written",
		file: "taints/patch.go",
		old: `		{"test", "/spec/taints", current},
`,
		with:     ``,
		caughtBy: invariant.OthersUntouched,
	},
	{
		name:     "what the live read of a lease says is ignored",
		file:     "examples/nodelifecycle/edge/performer.go",
		old:      `	if err == nil && action.Silent.LeaseVersion != live.ResourceVersion {`,
		with:     `	if err == nil && action.Silent.LeaseVersion == live.ResourceVersion+" and more" {`,
		caughtBy: invariant.NotDeclaredAlive,
	},
	{
		name: "an eviction that has succeeded is forgotten",
		file: "eviction/work.go",
		old: `	case Evicted, AlreadyGone:
		p.gone = true`,
		with:     `	case Evicted, AlreadyGone:`,
		caughtBy: invariant.NotTwice,
	},
	{
		name:     "a pod that was recreated under its name is remembered for ever",
		file:     "examples/nodelifecycle/edge/handlers.go",
		old:      `replaced.GetUID() != updated.GetUID() {`,
		with:     `replaced.GetUID() == "" {`,
		caughtBy: invariant.NothingLeft,
	},
	{
		name:     "a mark that has become moot stays",
		file:     "eviction/tracker.go",
		old:      `	if p.marked && !p.gone && !ruling.dueAt(now) {`,
		with:     `	if false {`,
		caughtBy: invariant.MarkTakenBack,
	},
	{
		name:     "a pod that could not be marked not ready is not tried again",
		file:     "examples/nodelifecycle/controller/pod.go",
		old:      `known && result.Pod != nil {`,
		with:     `known {`,
		caughtBy: invariant.PodsNotReady,
	},
	{
		name:     "one look at the zones is enough",
		file:     "zone/tracker.go",
		old:      `		m.notBefore = z.disrupted(t.now, t.config.Interval)`,
		with:     `		m.notBefore = t.now.Add(0 * z.disrupted(t.now, t.config.Interval).Sub(t.now))`,
		caughtBy: invariant.KnownFirst,
	},
	{
		name: "a change of tolerations is not seen",
		file: "eviction/tracker.go",
		old: `	p.tolerations = observed.Spec.Tolerations
	p.generation`,
		with: `	if p.tolerations == nil {
		p.tolerations = observed.Spec.Tolerations
	}
	p.generation`,
		caughtBy: invariant.InTime,
	},
}
