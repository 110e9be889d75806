package rollout_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// occurrence is something that happens, and how often as compared with the
// others. It says whether it could.
type occurrence struct {
	name   string
	weight int
	do     func(*history) bool
}

var occurrences = []occurrence{
	{"node comes", 14, (*history).nodeComes},
	{"node goes", 3, (*history).nodeGoes},
	{"node dies", 3, (*history).nodeDies},
	{"node recovers", 8, (*history).nodeRecovers},
	{"node is tainted", 6, (*history).nodeTainted},
	{"node is relabelled", 4, (*history).nodeRelabelled},
	{"mood changes", 8, (*history).moodChanges},
	{"pod fails", 8, onPod(func(h *history, r *record) { h.fail(r) })},
	{"pod succeeds", 2, onPod(func(h *history, r *record) { h.succeed(r) })},
	{"pod loses readiness", 4, onPod(func(h *history, r *record) { h.setReady(r, false) })},
	{"pod gets ready", 4, onPod(func(h *history, r *record) { h.setReady(r, true) })},
	{"pod is deleted by hand", 5, (*history).deletedByHand},
	{"pod is duplicated by hand", 3, (*history).duplicatedByHand},
	{"pod is released", 1, (*history).released},
	{"another template", 8, (*history).anotherTemplate},
	{"another rollout", 5, (*history).anotherRollout},
	{"another order", 2, (*history).anotherOrder},
	{"another canary", 3, (*history).anotherCanary},
	{
		"quota",
		3,
		func(h *history) bool {
			h.quota = !h.quota
			h.trace("world: quota exhausted %v",
				h.quota)
			return true
		},
	},
	{"webhook", 4, (*history).webhook},
	{"watch stalls", 3, (*history).watchStalls},
	{"relist", 2, func(h *history) bool { h.process.relist(); return true }},
	{"restart", 2, (*history).restart},
	{"compare", 6, func(h *history) bool { h.judge.sameAsFull(h.process, false); return true }},
	{"nothing", 5, func(*history) bool { return true }},
}

// happen lets one thing happen. The quota is not exhausted for long.
func (h *history) happen() {
	if h.quota && h.chance(20) {
		h.quota = false
	}
	sum := 0
	for _, o := range occurrences {
		sum += o.weight
	}
	at := h.IntN(sum)
	for _, o := range occurrences {
		if at -= o.weight; at < 0 {
			if o.do(h) {
				h.happened[o.name]++
			}
			return
		}
	}
}

// some machine, with a node or without.
func (h *history) some(which func(*machine) bool) *machine {
	var all []*machine
	for _, m := range h.machines {
		if which(m) {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[h.IntN(len(all))]
}

func exists(m *machine) bool { return m.object != nil }

func onPod(do func(*history, *record)) func(*history) bool {
	return func(h *history) bool {
		var all []*record
		for _, r := range h.pods {
			if runsThere(r.object) {
				all = append(all, r)
			}
		}
		if len(all) == 0 {
			return false
		}
		do(h, all[h.IntN(len(all))])
		return true
	}
}

func (h *history) nodeComes() bool {
	m := h.some(func(m *machine) bool { return m.object == nil })
	if m == nil {
		return false
	}
	h.join(m, h.labels())
	return true
}

func (h *history) labels() map[string]string {
	return map[string]string{
		"role":   pick(h.dice, "worker", "worker", "control"),
		"canary": pick(h.dice, "yes", "no"),
	}
}

func (h *history) nodeGoes() bool {
	m := h.some(exists)
	if m == nil {
		return false
	}
	h.vanish(m)
	return true
}

func (h *history) nodeDies() bool {
	m := h.some(func(m *machine) bool { return m.object != nil && m.alive })
	if m == nil {
		return false
	}
	h.die(m)
	return true
}

func (h *history) nodeRecovers() bool {
	m := h.some(func(m *machine) bool { return m.object != nil && !m.alive })
	if m == nil {
		return false
	}
	h.recover(m)
	return true
}

func (h *history) nodeTainted() bool {
	m := h.some(exists)
	if m == nil {
		return false
	}
	taint := corev1.Taint{
		Key:    dedicated,
		Effect: pick(h.dice, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
	}
	if h.chance(30) {
		taint = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	}
	h.changeNode(m, fmt.Sprintf("changes its taints, %v", taint), func(n *corev1.Node) {
		if len(n.Spec.Taints) > 0 {
			n.Spec.Taints = nil
			return
		}
		n.Spec.Taints = []corev1.Taint{taint}
	})
	return true
}

func (h *history) nodeRelabelled() bool {
	m := h.some(exists)
	if m == nil {
		return false
	}
	labels := h.labels()
	h.changeNode(
		m,
		fmt.Sprintf("is relabelled %v", labels),
		func(n *corev1.Node) { n.Labels = labels },
	)
	return true
}

func (h *history) moodChanges() bool {
	m := h.some(exists)
	if m == nil {
		return false
	}
	m.mood = pick(h.dice, runs, runs, rejects, hangs)
	h.trace("world: what starts on %s %s", m.name, m.mood)
	return true
}

func (h *history) deletedByHand() bool {
	if len(h.pods) == 0 {
		return false
	}
	r := h.pods[h.IntN(len(h.pods))]
	h.delete(r.object.Name, r.object.UID, 0)
	return true
}

func (h *history) duplicatedByHand() bool {
	if len(h.pods) == 0 {
		return false
	}
	r := h.pods[h.IntN(len(h.pods))]
	const most = 5 // of which each that fails may wait for a quarter of an hour
	if len(h.process.knowledge.byNode[r.target]) > most {
		return false
	}
	pod := *r.object
	pod.Name = fmt.Sprintf("by-hand-%d", h.uids)
	pod.Status, pod.Spec.NodeName, pod.DeletionTimestamp = corev1.PodStatus{}, "", nil
	h.create(&pod, r.target, 0)
	return true
}

func (h *history) released() bool {
	return onPod(func(h *history, r *record) {
		h.write(r, "is released", func(p *corev1.Pod) { p.OwnerReferences = nil })
	})(h)
}

// anotherTemplate goes to another template, or back to one.
func (h *history) anotherTemplate() bool {
	to := h.revisions[h.IntN(len(h.revisions))]
	h.config.Spec.Template, h.config.Spec.Revision = to.Template, to.Revision
	h.setSpec()
	return true
}

func (h *history) anotherRollout() bool {
	h.config.Spec.Strategy = h.rollout()
	h.config.Spec.MinReady = pick(h.dice, 0, 0, 3*time.Second, 30*time.Second)
	h.setSpec()
	return true
}

func (h *history) rollout() rollout.Strategy {
	amount := func() intstr.IntOrString {
		return pick(
			h.dice,
			intstr.FromInt32(1),
			intstr.FromInt32(2),
			intstr.FromInt32(3),
			intstr.FromString("10%"),
			intstr.FromString("35%"),
			intstr.FromString("100%"),
		)
	}
	r := rollout.Strategy{OnDelete: h.chance(10), Paused: h.chance(10), Strict: h.chance(30)}
	if h.chance(80) {
		r.MaxUnavailable = amount()
	}
	if h.chance(40) {
		r.MaxSurge = amount()
	}
	if h.chance(15) {
		r.Partition = amount()
	}
	return r
}

func (h *history) setSpec() {
	h.trace("world: the set is %s", describe(&h.config.Spec))
	h.process.config.Spec = h.config.Spec
	if err := h.process.planner.SetSpec(h.now, h.config.Spec); err != nil {
		panic(err) // the histories make no specs that are refused
	}
	if h.config.Spec.Revision != h.judge.revision {
		h.judge.forgive(h.config.Spec.Revision)
	}
	h.process.changes++
	h.process.wake()
}

// drawn is the policy of a set.
type drawn struct {
	canaries, ignores bool
	order             order
}

// order is that of the nodes, by a label.
type order int

const (
	byName order = iota
	rising
	falling
)

func (d drawn) Less(a, b *corev1.Node) bool {
	switch d.order {
	case rising:
		return a.Labels["canary"] < b.Labels["canary"]
	case falling:
		return a.Labels["canary"] > b.Labels["canary"]
	case byName:
	}
	return false
}

func (d drawn) Eligible(node *corev1.Node) bool { return !d.canaries || selected(node) }

func (d drawn) Ignores(node *corev1.Node, pod *corev1.Pod) bool {
	return d.ignores && rollout.IgnoreNotReadyNodes{}.Ignores(node, pod)
}

func (w *wants) drawn() drawn { return w.Spec.Policy.(drawn) }

func (h *history) anotherOrder() bool {
	policy := h.config.Spec.Policy.(drawn)
	policy.order = byName
	if h.chance(70) {
		policy.order = rising
		if h.chance(50) {
			policy.order = falling
		}
	}
	h.config.Spec.Policy = policy
	h.setSpec()
	return true
}

func (h *history) anotherCanary() bool {
	policy := h.config.Spec.Policy.(drawn)
	policy.canaries = !h.chance(70)
	h.config.Spec.Policy = policy
	h.setSpec()
	return true
}

func (h *history) webhook() bool {
	m := h.some(exists)
	if m == nil {
		return false
	}
	m.webhook = !m.webhook
	h.trace("world: calls for %s are refused: %v", m.name, m.webhook)
	return true
}

func (h *history) watchStalls() bool {
	until := h.now.Add(h.between(0, time.Minute))
	if h.chance(50) {
		h.process.pods.stalled = until
	} else {
		h.process.nodes.stalled = until
	}
	h.trace("world: a watch stalls")
	return true
}

// restart ends the process. The next one lists what may be stale.
func (h *history) restart() bool {
	missing := 0
	if h.chance(50) {
		missing = h.IntN(10)
	}
	h.start(missing)
	return true
}
