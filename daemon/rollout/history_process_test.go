package rollout_test

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// process is one life of a controller: a planner, a watch that feeds it, and
// the calls that it makes. It plays the part of the edge.
type process struct {
	*world
	judge     *judge
	number    int
	planner   *rollout.Planner
	config    rollout.Config // with the spec that it was given last
	knowledge *knowledge
	faults    *faults
	manner    manner
	dead      bool

	nodes, pods feed
	cachedNodes map[string]*corev1.Node
	cachedPods  map[string]*corev1.Pod
	waking      bool
	timer       int // number of the latest
	changes     int // what was told or reported
	calls       *int
}

// feed is one watch. What it tells comes in the order in which it happened,
// late, and not in any order with what the other one tells.
type feed struct {
	last       time.Time // what came last, came then
	stalled    time.Time // nothing comes before
	generation int       // a new list begins a new one
}

// faults are what goes wrong with a process's calls and watches, in percent.
type faults struct {
	loseAny  int // events that never come
	loseOurs int // such that a call of its own has caused
	calls    int // answers that are lost
	slow     int
	notNow   int // creations and deletions that wait for something else
}

// manner is how a controller goes about its pods that is not one of DaemonSets.
type manner struct {
	inPlace bool // a rollout updates the pods that run
	lists   bool // the planner is told of all pods at a time
}

// inspect, unless nil, sees a planner after each call of it.
var inspect func(*rollout.Planner)

func (p *process) inspected() {
	if inspect != nil {
		inspect(p.planner)
	}
}

// theSet owns the pods.
var theSet = ownership.Owner{
	Object: &metav1.ObjectMeta{Name: "agent", Namespace: "kube-system", UID: "uid-of-the-set"},
	Kind:   schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
}

// begin starts a process with lists that miss the latest events, which its
// watches then tell.
func (p *process) begin(missing int) {
	p.cachedNodes, p.cachedPods = map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	upTo := len(p.events) - min(missing, len(p.events))
	for _, e := range p.events[:upTo] {
		switch {
		case e.node != nil && e.gone:
			delete(p.cachedNodes, e.node.Name)
		case e.node != nil:
			p.cachedNodes[e.node.Name] = e.node
		case e.gone || !isOwned(e.pod):
			delete(p.cachedPods, e.pod.Name)
		default:
			p.cachedPods[e.pod.Name] = e.pod
		}
	}
	for _, name := range sortedKeys(p.cachedNodes) {
		p.tellNode(p.cachedNodes[name])
	}
	for _, name := range sortedKeys(p.cachedPods) {
		p.tellPod(p.cachedPods[name])
	}
	for _, e := range p.events[upTo:] {
		p.hear(e)
	}
	p.wake()
}

func (p *process) delay() time.Duration {
	if p.chance(5) && !p.calm {
		return p.between(time.Second, 10*time.Second)
	}
	return p.between(0, 100*time.Millisecond)
}

// hear lets an event come to the process, or be lost.
func (p *process) hear(e event) {
	if !p.calm && (p.chance(p.faults.loseAny) || e.by == p.number && p.chance(p.faults.loseOurs)) {
		p.trace("watch: the event is lost")
		return
	}
	f := &p.pods
	if e.node != nil {
		f = &p.nodes
	}
	p.feed(f, func() { p.take(e) })
}

// feed does something in the order of a watch.
func (p *process) feed(f *feed, do func()) {
	at := p.now.Add(p.delay())
	for _, not := range []time.Time{f.last, f.stalled} {
		if at.Before(not) {
			at = not
		}
	}
	f.last = at
	generation := f.generation
	p.after(at.Sub(p.now), func() {
		if !p.dead && f.generation == generation {
			do()
			p.changes++
			p.wake()
		}
	})
}

// take is what an informer's handlers do.
func (p *process) take(e event) {
	switch {
	case e.node != nil && e.gone:
		delete(p.cachedNodes, e.node.Name)
		p.trace("told: node %s is gone", e.node.Name)
		delete(p.knowledge.nodes, e.node.Name)
		p.planner.ForgetNode(p.now, e.node.Name)
		p.inspected()
	case e.node != nil:
		p.cachedNodes[e.node.Name] = e.node
		p.tellNode(e.node)
	case e.gone || !isOwned(e.pod):
		if cached := p.cachedPods[e.pod.Name]; cached != nil {
			p.tellGone(cached)
		}
	default:
		p.cachedPods[e.pod.Name] = e.pod
		p.tellPod(e.pod)
	}
}

func (p *process) tellNode(node *corev1.Node) {
	p.trace("told: node %s", node.Name)
	p.knowledge.nodes[node.Name] = node
	p.planner.ObserveNode(p.now, node)
	p.inspected()
}

func (p *process) tellPod(pod *corev1.Pod) {
	p.trace("told: pod %s version %s", pod.Name, pod.ResourceVersion)
	p.knowledge.see(pod, p.targets[pod.UID], true)
	if p.manner.lists {
		p.tellAll()
		return
	}
	p.planner.ObservePod(p.now, pod)
	p.inspected()
}

// tellAll tells the planner of all pods that the cache has.
func (p *process) tellAll() {
	var all []*corev1.Pod
	for _, name := range sortedKeys(p.cachedPods) {
		all = append(all, p.cachedPods[name])
		p.knowledge.see(p.cachedPods[name], p.targets[p.cachedPods[name].UID], true)
	}
	p.planner.ReplacePods(p.now, all)
	p.inspected()
}

func (p *process) tellGone(cached *corev1.Pod) {
	delete(p.cachedPods, cached.Name)
	p.trace("told: pod %s is gone", cached.Name)
	p.knowledge.forget(cached.UID)
	if p.manner.lists {
		p.tellAll()
		return
	}
	p.planner.ForgetPod(p.now, cached)
	p.inspected()
}

// relist begins both watches again. What the old ones had not told yet is in
// the lists.
func (p *process) relist() {
	p.nodes.generation++
	p.pods.generation++
	nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	for _, m := range p.machines {
		if m.object != nil {
			nodes[m.name] = m.object
		}
	}
	for _, r := range p.world.pods {
		if isOwned(r.object) {
			pods[r.object.Name] = r.object
		}
	}
	p.feed(&p.nodes, func() {
		for _, name := range sortedKeys(p.cachedNodes) {
			if nodes[name] == nil {
				p.take(event{node: p.cachedNodes[name], gone: true})
			}
		}
		for _, name := range sortedKeys(nodes) {
			p.take(event{node: nodes[name]})
		}
	})
	p.feed(&p.pods, func() {
		for _, name := range sortedKeys(p.cachedPods) {
			if pods[name] == nil {
				p.tellGone(p.cachedPods[name])
			}
		}
		for _, name := range sortedKeys(pods) {
			p.take(event{pod: pods[name]})
		}
	})
}

// wake lets the planner be asked soon. Some events more may come until then.
func (p *process) wake() {
	if p.waking || p.dead {
		return
	}
	p.waking = true
	p.after(p.between(0, 20*time.Millisecond), func() {
		p.waking = false
		p.plan()
	})
}

// plan asks for a plan, and does what it says.
func (p *process) plan() {
	if p.dead {
		return
	}
	plan := planOf(p.planner, p.now)
	p.inspected()
	p.judge.plan(p, &plan)
	again := planOf(p.planner, p.now)
	p.judge.again(&plan, &again)
	for _, d := range plan.Delete {
		p.trace("plan: delete %s (%s) on %s: %s", d.Pod, d.UID, d.Node, d.Reason)
		spec := plan.Spec
		p.call(func(inTime bool) ended { return p.delete(spec, &d, inTime) }, ended{Delete: &d, Spec: spec})
	}
	for i, c := range plan.Create {
		p.trace("plan: create for %s: %s, attempt %d of %s", c.Node, c.Reason, c.Attempt, c.Revision)
		spec := p.config.Spec
		spec.Template, spec.Revision = plan.Specs[i].Template, plan.Specs[i].Revision
		p.call(func(inTime bool) ended { return p.create(&spec, &c, inTime) }, ended{Create: &c})
	}
	for _, l := range plan.Refresh {
		p.trace("plan: refresh %s (%s)", l.Pod, l.UID)
		p.call(func(bool) ended { return p.refresh(&l) }, ended{Refresh: &l})
	}
	p.await(plan.Next)
}

// await asks again when the planner wants to be asked, and now and then before.
func (p *process) await(next time.Time) {
	p.timer++
	timer := p.timer
	if next.IsZero() {
		return
	}
	p.after(next.Sub(p.now), func() {
		if p.timer == timer {
			p.plan()
		}
	})
	if p.chance(10) && next.After(p.now) {
		changes := p.changes
		p.after(p.between(0, next.Sub(p.now)-1), func() {
			if !p.dead && p.changes == changes && p.timer == timer {
				early := planOf(p.planner, p.now)
				p.judge.early(&early)
			}
		})
	}
}

var errLost = errors.New("the answer was lost")

// call sends a call, and reports how it ended: as it did, or, if the answer is
// lost, that it failed. Then it may have been done, or not, or be done later
// still.
func (p *process) call(do func(inTime bool) ended, step ended) {
	*p.calls++
	there, back := p.between(0, 30*time.Millisecond), p.between(0, 30*time.Millisecond)
	if !p.calm && p.chance(p.faults.slow) {
		there, back = p.between(0, 5*time.Second), p.between(0, 5*time.Second)
	}
	if step.Refresh == nil && !p.calm && p.chance(p.faults.notNow) {
		step.NotNow = true
		p.after(there+back, func() { p.report(step) })
		return
	}
	lost := step
	lost.Err = errLost
	fate := 0
	if !p.calm && p.chance(p.faults.calls) {
		fate = 1 + p.IntN(3)
	}
	switch fate {
	case 1: // nothing was done
		p.after(there+back, func() { p.report(lost) })
	case 2: // it was done later
		p.after(there, func() { p.report(lost) })
		p.after(there+p.between(0, 5*time.Second), func() { do(false) })
	default:
		p.after(there, func() {
			result := do(true)
			if fate == 3 { // it was done
				result = lost
			}
			p.after(back, func() { p.report(result) })
		})
	}
}

func (p *process) report(result ended) {
	if p.dead {
		return
	}
	p.judge.report(p, &result)
	finish(p.planner, p.now, result)
	p.inspected()
	p.changes++
	p.wake()
}

var (
	errQuota   = errors.New("exceeded quota")
	errWebhook = errors.New("denied the request")
)

// create does what the executor does, at the API server, at once.
func (p *process) create(spec *rollout.Spec, c *rollout.Creation, inTime bool) ended {
	result := ended{Create: c}
	pod, err := rollout.NewPod(theSet, spec, *c)
	if err != nil {
		p.judge.violate(Reasoned, "no pod can be made of %v: %v", c, err)
		result.Err = err
		return result
	}
	met := p.find(pod.Name)
	switch {
	case p.machine(c.Node).webhook:
		result.Err, result.Refused = errWebhook, true
	case met == nil && p.quota:
		result.Err, result.Refused = errQuota, true
	case met == nil:
		late := !inTime && !p.judge.wants(p).awaits(c)
		if !late {
			p.judge.created(p, spec, pod, c)
		}
		made := p.world.create(pod, c.Node, p.number)
		made.late, result.Pod = late, made.object
	case isOwned(met.object) && met.object.DeletionTimestamp == nil &&
		revisionOf(met.object) == spec.Revision && met.target == c.Node:
		result.Pod = met.object
	default:
		result.Taken = true
	}
	return result
}

func (p *process) delete(spec *rollout.Spec, d *rollout.Deletion, inTime bool) ended {
	if p.machine(d.Node).webhook {
		return ended{Delete: d, Err: errWebhook, Refused: true}
	}
	if r := p.find(d.Pod); p.manner.inPlace && ofRollout(d.Reason) && r != nil && r.object.UID == d.UID &&
		runsThere(r.object) {
		p.update(r, spec.Template, spec.Revision, p.number)
		return ended{Delete: d, Spec: spec, Updated: true, Pod: r.object}
	}
	existed := p.world.delete(d.Pod, d.UID, p.number)
	if existed && inTime && !p.dead {
		p.knowledge.secretly[d.UID] = true
	}
	return ended{Delete: d, Gone: !existed}
}

func ofRollout(reason rollout.StepReason) bool {
	return reason == rollout.StepOutdated || reason == rollout.StepOutdatedUnavailable
}

// runsThere says whether a pod is on a node, and has not come to an end.
func runsThere(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !isTerminal(pod)
}

func (p *process) refresh(l *rollout.Refresh) ended {
	r := p.find(l.Pod)
	if r == nil || r.object.UID != l.UID {
		return ended{Refresh: l, Gone: true}
	}
	return ended{Refresh: l, Pod: r.object, Released: !isOwned(r.object)}
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
