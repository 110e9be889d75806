package rollout_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// invariant is what holds at each step of each history.
type invariant string

const (
	// never two live pods of a revision on a node by our doing
	OnePerRevision invariant = "OnePerRevision"
	// without surge never a second pod of any, and one creation at a time
	OnePerNode invariant = "OnePerNode"
	Budget     invariant = "Budget" // maxUnavailable, by our doing
	// maxSurge, and the old pod stays until the new one is available
	Surge invariant = "Surge"
	// pods are made where they belong, and are not misscheduled where they may
	// stay
	RightPlace invariant = "RightPlace"
	// failed pods are replaced after the backoff, refused calls after the hold
	NotTooSoon     invariant = "NotTooSoon"
	NeverRunsAhead invariant = "NeverRunsAhead" // Burst and the slow start
	UIDGuard       invariant = "UIDGuard"       // what is deleted was told of, and stays until then
	Reasoned       invariant = "Reasoned"       // the cause of a step is true
	BetterStays    invariant = "BetterStays"    // of two pods the available one stays
	// OnDelete, Paused, Partition and Updates keep old pods
	Kept invariant = "Kept"
	// when the world stops changing all is as it should be, soon
	Converges invariant = "Converges"
	// asked again at once or too early there is nothing to do
	NoSpin     invariant = "NoSpin"
	Thrifty    invariant = "Thrifty"    // the number of calls is bounded
	StatusTrue invariant = "StatusTrue" // the counts are those of what was told
	SameAsFull invariant = "SameAsFull" // a planner that is told all at once says the same
	// a node that is not as it should be, and for which nothing is done, waits
	WaitsTell invariant = "WaitsTell"
	// what is not done now holds no other node, and is tried ever later
	DelaysNoOther invariant = "DelaysNoOther"
	Deterministic invariant = "Deterministic" // the same history has the same steps
)

// judge checks the invariants of one history. It is independent: it has no code
// in common with the planner.
type judge struct {
	*world
	violated invariant // the first
	why      string
	acted    time.Time // when something was created or deleted last
	hash     uint64    // of all steps

	failures map[string][]time.Time // of each node: when its failed pods were deleted
	forgiven map[string]types.UID   // the machine that they are of
	revision string
	refused  refusals
	denied   map[string]refusals  // those of each node
	handed   map[string]time.Time // when the creation for a node was
	taken    map[string]types.UID // nodes without the available pod that the rollout has deleted
	// failed is when a call failed or was refused last, for other reasons than that
	// something else comes first.
	failed time.Time
	// undone are pods whose deletion was not done.
	undone map[types.UID]refusals
}

// refusals is what is known of failed creations since the last one that
// succeeded.
type refusals struct {
	inRow     int
	last      time.Time
	alone     bool      // nothing has succeeded since
	succeeded int       // since the last failure
	machine   types.UID // the node's, if they are of one
	forgiven  time.Time // what was handed out until then fails without consequence
}

func (j *judge) violate(what invariant, format string, args ...any) {
	if j.violated == "" {
		j.violated, j.why = what, fmt.Sprintf(format, args...)
		j.trace("VIOLATED %s: %s", what, j.why)
	}
}

func (j *judge) going() bool { return j.violated == "" }

// forget begins with another process, which remembers nothing.
func (j *judge) forget() {
	j.failures, j.forgiven = map[string][]time.Time{}, map[string]types.UID{}
	j.refused, j.denied, j.handed = refusals{}, map[string]refusals{}, map[string]time.Time{}
	j.taken = map[string]types.UID{}
	j.failed, j.undone = time.Time{}, map[types.UID]refusals{}
}

func (j *judge) wants(p *process) *wants { return &wants{p.knowledge, p.config.Spec, p.config, j.now} }

// forgive begins with another revision, that has not failed yet.
func (j *judge) forgive(revision string) {
	j.revision, j.failures = revision, map[string][]time.Time{}
	j.refused = refusals{succeeded: j.refused.succeeded, forgiven: j.now}
	j.denied = map[string]refusals{}
}

// plan checks a plan that was just handed out, and records what is under way.
func (j *judge) plan(p *process, plan *plan) {
	w := j.wants(p)
	j.giveBack(w)
	j.outdate(w)
	if !plan.Empty() {
		j.note(plan)
		j.handOut(w, plan)
	}
	if !plan.Next.IsZero() && !plan.Next.After(j.now) {
		j.violate(NoSpin, "Next is %s, which is not later than %s", plan.Next, j.now)
	}
	if j.version%3 == 0 { // it takes the most time
		j.waits(w, p.planner)
	}
	if status := statusOf(p.planner); status != w.status() {
		j.violate(StatusTrue, "%+v, want %+v", status, w.status())
	}
}

// handOut judges what is handed out, each step by what was known before and all
// of them by what is left.
func (j *judge) handOut(w *wants, plan *plan) {
	for i := range plan.Delete {
		j.deletion(w, &plan.Delete[i])
	}
	outdated := j.replaced(w, plan)
	behind := j.behind(w)
	for _, d := range plan.Delete {
		if p := w.pod(d.UID); p != nil && w.again(p) && w.runsOn(d.Node) && !w.surges() {
			behind++ // it may be there
		}
	}
	served := w.count(w.serves)
	for i := range plan.Create {
		j.creation(w, &plan.Create[i])
	}
	for i := range plan.Delete {
		w.deleting[plan.Delete[i].UID] = true
		if node := plan.Delete[i].Node; plan.Delete[i].Reason == rollout.StepOutdated {
			j.taken[node] = w.nodes[node].UID
		}
		if p := w.pod(plan.Delete[i].UID); p != nil {
			p.reading = false // what is being read is of before
		}
	}
	for i := range plan.Refresh {
		if p := w.pod(plan.Refresh[i].UID); p != nil {
			p.reading = true
		}
	}
	for i := range plan.Create {
		w.creating[plan.Create[i].Node] = plan.Create[i]
		delete(w.shown, plan.Create[i].Node)
		j.handed[plan.Create[i].Node] = j.now
	}
	j.kept(w, plan, behind)
	j.budget(w, outdated)
	j.surge(w, plan, served)
	j.ahead(w, plan)
}

func (j *judge) note(plan *plan) {
	for _, step := range []string{fmt.Sprint(plan.Create), fmt.Sprint(plan.Delete),
		fmt.Sprint(plan.Refresh)} {
		for _, b := range []byte(step) {
			j.hash = (j.hash ^ uint64(b)) * 1099511628211
		}
	}
	if len(plan.Create)+len(plan.Delete) > 0 {
		j.acted = j.now
	}
}

// deletion judges one deletion by what it says of itself.
func (j *judge) deletion(w *wants, d *rollout.Deletion) {
	p := w.pod(d.UID)
	again := p != nil && w.again(p)
	if p == nil || p.object.Name != d.Pod || p.target != d.Node || !w.stays(p) && !again {
		j.violate(UIDGuard, "%v is not a pod that is known to stay", *d)
		return
	}
	if kept := j.undone[d.UID]; kept.inRow > 0 {
		wait := min(250*time.Millisecond<<min(kept.inRow-1, 10), time.Minute)
		if since := j.now.Sub(kept.last); since < wait {
			j.violate(DelaysNoOther, "%v is tried %s after the last, want %s after %d", *d, since, wait, kept.inRow)
		}
	}
	node := w.nodes[d.Node]
	ok := true
	switch d.Reason {
	case rollout.StepPodFailed:
		ok = p.object.Status.Phase == corev1.PodFailed
		if !again { // which is replaced once
			j.tooSoon(w, d.Node)
			j.failures[d.Node] = append(j.failures[d.Node], j.now)
		}
	case rollout.StepPodSucceeded:
		ok = p.object.Status.Phase == corev1.PodSucceeded
	case rollout.StepNodeGone:
		ok = node == nil && p.object.Spec.NodeName == ""
	case rollout.StepMisscheduled:
		if node == nil ||
			w.keepsOn(d.Node) && (w.runsOn(d.Node) || !w.surges() || w.updated(p) && !w.stranded(p)) {
			j.violate(RightPlace, "%v may stay", *d)
		}
	case rollout.StepDuplicate:
		ok = slices.ContainsFunc(w.on(d.Node), func(o *knownPod) bool { return o != p && w.lives(o) })
		j.better(w, p)
	case rollout.StepOutdated:
		ok = !w.updated(p)
	case rollout.StepOutdatedUnavailable:
		ok = !w.updated(p) && !w.available(p)
	case rollout.StepReplaced:
		ok = !w.updated(p) && len(w.living(d.Node, true)) > 0
		j.relieved(w, p)
	default:
		ok = false
	}
	if !ok {
		j.violate(Reasoned, "%v is not true", *d)
	}
}

// better wants one that is available to be left if one that is available goes.
func (j *judge) better(w *wants, p *knownPod) {
	if w.available(p) &&
		!slices.ContainsFunc(
			w.on(p.target),
			func(o *knownPod) bool { return o != p && w.lives(o) && w.available(o) },
		) {
		j.violate(
			BetterStays,
			"%s on %s is available, and goes as a duplicate of one that is not",
			p.object.Name,
			p.target,
		)
	}
}

// relieved wants the new pod to be available before the old one goes, unless
// that is of no use.
func (j *judge) relieved(w *wants, p *knownPod) {
	if ready(p) &&
		!slices.ContainsFunc(w.living(p.target, true), w.available) {
		j.violate(
			Surge,
			"%s on %s is ready, and goes before the new one is available",
			p.object.Name,
			p.target,
		)
	}
}

// tooSoon wants failed pods to be replaced ever later.
func (j *judge) tooSoon(w *wants, node string) {
	object := w.nodes[node]
	if object == nil {
		return
	}
	if j.forgiven[node] != object.UID {
		j.forgiven[node], j.failures[node] = object.UID, nil
	}
	wait := time.Duration(0)
	var last time.Time
	for _, at := range j.failures[node] {
		switch {
		case wait == 0 || at.Sub(last) > 30*time.Minute:
			wait = time.Second
		default:
			wait = min(2*wait, 15*time.Minute)
		}
		last = at
	}
	if since := j.now.Sub(last); !last.IsZero() && since < wait {
		j.violate(
			NotTooSoon,
			"a failed pod of %s is replaced %s after the last, want %s after %d",
			node,
			since,
			wait,
			len(j.failures[node]),
		)
	}
}

func (j *judge) creation(w *wants, c *rollout.Creation) {
	if _, under := w.creating[c.Node]; under {
		j.violate(OnePerNode, "one creation for %s is under way already", c.Node)
	}
	if w.doubts(c.Node) && w.doubtful[c.Node].Revision != c.Revision {
		j.violate(OnePerNode, "%s may have a pod of %s", c.Node, w.doubtful[c.Node].Revision)
	}
	if !w.runsOn(c.Node) {
		j.violate(RightPlace, "no pod belongs on %s", c.Node)
	}
	if c.Revision != w.Revision && !w.awaits(c) { // the call is sent again until it is answered
		j.violate(Reasoned, "a pod of %s is made for %s, want %s", c.Revision, c.Node, w.Revision)
	}
	ofSet := 2 * time.Second
	if j.refused.inRow <= 8 {
		ofSet = 250 * time.Millisecond
	}
	j.held(c.Node, &j.refused, ofSet)
	if denied := j.denied[c.Node]; w.nodes[c.Node] != nil && denied.machine == w.nodes[c.Node].UID {
		ofNode := time.Minute
		if denied.inRow < 10 {
			ofNode = min(250*time.Millisecond<<max(0, denied.inRow-1), time.Minute)
		}
		j.held(c.Node, &denied, ofNode)
	}
	old, fresh := len(w.living(c.Node, false)), len(w.living(c.Node, true))
	switch {
	case fresh > 0:
		j.violate(OnePerRevision, "%s has a pod of the revision already", c.Node)
	case !w.surges() && len(w.on(c.Node)) > 0:
		j.violate(OnePerNode, "%s has a pod already", c.Node)
	case old > 0 && c.Reason != rollout.StepSurging,
		old == 0 && c.Reason != rollout.StepMissing,
		c.Reason == rollout.StepSurging && !w.surges():
		j.violate(Reasoned, "%v is not true: there are %d old pods", *c, old)
	}
}

// held wants what was refused to wait, which is ever longer.
func (j *judge) held(node string, r *refusals, hold time.Duration) {
	if since := j.now.Sub(r.last); r.alone && since < hold {
		j.violate(
			NotTooSoon,
			"a pod is made for %s %s after a failure, want %s after %d",
			node,
			since,
			hold,
			r.inRow,
		)
	}
}

// created judges a creation that arrives, in time or late, and makes a pod.
func (j *judge) created(p *process, spec *rollout.Spec, pod *corev1.Pod, c *rollout.Creation) {
	surges := (&wants{p.knowledge, *spec, p.config, j.now}).surges()
	for _, r := range j.pods {
		if !r.late && r.target == c.Node && r.maker == p.number && isOwned(r.object) &&
			(revisionOf(r.object) == revisionOf(pod) || !surges) &&
			r.object.DeletionTimestamp == nil &&
			!isTerminal(r.object) {
			what := OnePerNode
			if revisionOf(r.object) == revisionOf(pod) {
				what = OnePerRevision
			}
			j.violate(
				what,
				"%s gets %s next to %s, which the same process has made",
				c.Node,
				pod.Name,
				r.object.Name,
			)
		}
	}
}

// replaced returns the nodes whose available old pod a plan takes for the
// rollout's sake, as of before the deletions.
func (j *judge) replaced(w *wants, plan *plan) []string {
	var nodes []string
	for i := range plan.Delete {
		p := w.pod(plan.Delete[i].UID)
		if reason := plan.Delete[i].Reason; p != nil && reason == rollout.StepOutdated ||
			reason == rollout.StepOutdatedUnavailable && w.Strategy.Strict {
			nodes = append(nodes, plan.Delete[i].Node)
		}
	}
	return nodes
}

// budget wants the nodes without an available pod to be no more than they may
// be after a deletion that adds to them.
func (j *judge) budget(w *wants, outdated []string) {
	if len(outdated) == 0 || w.surges() {
		return
	}
	lacks := func(node string) bool {
		between := len(w.living(node, false)) == 0 || !w.Strategy.Strict
		return (w.runsOn(node) || slices.Contains(outdated, node)) && !w.serves(node) && between &&
			(!w.ignored(node) || j.taken[node] != "")
	}
	if n := w.count(lacks); n > w.maxUnavailable() && slices.ContainsFunc(outdated, lacks) {
		nodes := slices.DeleteFunc(sortedKeys(w.nodes), func(node string) bool { return !lacks(node) })
		j.violate(
			Budget,
			"%v lack an available pod after those of %v are deleted, want %d at most",
			nodes,
			outdated,
			w.maxUnavailable(),
		)
	}
}

// surge checks that a creation leaves no more nodes with two pods than allowed.
// It also checks that no available pod goes where too few are left.
func (j *judge) surge(w *wants, plan *plan, served int) {
	if !w.surges() {
		return
	}
	two := func(node string) bool {
		_, making := w.creating[node]
		another := making || w.doubts(node) ||
			slices.ContainsFunc(w.living(node, true), func(p *knownPod) bool {
				return w.runsOn(node) || p.object.Spec.NodeName != "" // it will never run
			})
		return w.keepsOn(node) && len(w.living(node, false)) > 0 && another && !w.ignored(node)
	}
	for _, c := range plan.Create {
		old := w.living(c.Node, false)
		if c.Reason == rollout.StepSurging && len(old) > 0 && w.available(old[0]) && !w.doubts(c.Node) &&
			w.count(two) > w.maxSurge() {
			nodes := slices.DeleteFunc(sortedKeys(w.nodes), func(node string) bool { return !two(node) })
			j.violate(
				Surge,
				"%v have two pods after a creation for %s, want %d at most",
				nodes,
				c.Node,
				w.maxSurge(),
			)
		}
	}
	for _, d := range plan.Delete {
		if d.Reason == rollout.StepMisscheduled && w.keepsOn(d.Node) && w.available(w.pod(d.UID)) &&
			w.count(w.serves) < min(served, w.desired()) {
			j.violate(
				Surge,
				"%d nodes have an available pod after %v, want %d",
				w.count(w.serves),
				d,
				w.desired(),
			)
		}
	}
}

// behind is how many nodes have an old pod only.
func (j *judge) behind(w *wants) int {
	return w.count(func(node string) bool {
		_, making := w.creating[node]
		begun := w.surges() && (making || len(w.living(node, true)) > 0)
		return w.runsOn(node) && !begun && len(w.living(node, false)) > 0
	})
}

// kept wants the old pods to stay that the settings keep.
func (j *judge) kept(w *wants, plan *plan, behind int) {
	begin := func(node string) {
		left := behind
		if w.runsOn(node) {
			behind--
		}
		switch {
		case w.Strategy.OnDelete:
			j.violate(Kept, "the pod of %s is replaced although it is to be deleted by hand", node)
		case w.Strategy.Paused:
			j.violate(Kept, "the pod of %s is replaced although the rollout is paused", node)
		case w.drawn().canaries && !selected(w.nodes[node]):
			j.violate(Kept, "the pod of %s is replaced although the node is not selected", node)
		case w.runsOn(node) && left <= w.partition():
			j.violate(
				Kept,
				"the pod of %s is replaced, and there are %d old ones, want to keep %d",
				node,
				left,
				w.partition(),
			)
		}
	}
	for _, d := range plan.Delete {
		misscheduled := d.Reason == rollout.StepMisscheduled && w.keepsOn(d.Node) &&
			!w.updated(w.pod(d.UID))
		if d.Reason == rollout.StepOutdated || d.Reason == rollout.StepOutdatedUnavailable || misscheduled {
			begin(d.Node)
		}
	}
	for _, c := range plan.Create {
		if c.Reason == rollout.StepSurging && !w.doubts(c.Node) {
			begin(c.Node)
		}
	}
}
