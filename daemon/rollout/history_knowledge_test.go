package rollout_test

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// knowledge is all that one process was told by its watch and by the answers to
// its calls, and what it has under way. A planner answers for this and for
// nothing else: what no watch has shown it cannot know. Nothing here is kept up
// to date by parts; a caller that wants a number counts.
type knowledge struct {
	nodes  map[string]*corev1.Node
	pods   []*knownPod
	byNode map[string][]*knownPod // the same, by the node that they are for
	gone   map[types.UID]bool     // never to come back, whatever arrives late

	creating map[string]rollout.Creation // under way, by node
	shown    map[string]bool             // by node: a pod as that of the creation under way
	deleting map[types.UID]bool          // under way
	doubtful map[string]unanswered       // by node: not answered or shown since
	// secretly are pods that a call of the process has deleted although its answer
	// said that it had failed.
	secretly map[types.UID]bool
}

type knownPod struct {
	object   *corev1.Pod
	target   string
	made     bool // by a call of the process
	observed bool // by the watch or a read, not only in the answer to a call
	asked    bool // its deletion was agreed to, or not answered, and not observed
	lost     bool // it was not answered
	reading  bool // it is being read, and nothing was done with it since
	// restarting says that it was updated in place, and neither has restarted nor
	// become ready since.
	restarting bool
}

// unanswered is a creation, and when it was known that it has no answer.
type unanswered struct {
	rollout.Creation

	at time.Time
}

func newKnowledge() *knowledge {
	return &knowledge{
		nodes: map[string]*corev1.Node{}, byNode: map[string][]*knownPod{}, gone: map[types.UID]bool{},
		creating: map[string]rollout.Creation{}, deleting: map[types.UID]bool{},
		shown: map[string]bool{}, doubtful: map[string]unanswered{}, secretly: map[types.UID]bool{},
	}
}

func versionOf(pod *corev1.Pod) int {
	version, err := strconv.Atoi(pod.ResourceVersion)
	if err != nil {
		panic(err) // the world makes no others
	}
	return version
}

// see takes a pod as it was at some time, and how it was learned.
func (k *knowledge) see(pod *corev1.Pod, target string, observed bool) {
	if k.gone[pod.UID] {
		return
	}
	for _, p := range k.pods {
		switch {
		case p.object.UID == pod.UID:
			if versionOf(pod) >= versionOf(p.object) {
				// What takes another revision while our call is not resolved was updated by it.
				updated := (p.asked || k.deleting[pod.UID]) && revisionOf(p.object) != revisionOf(pod)
				p.restarting = (p.restarting || updated) && sameReadiness(p.object, pod)
				p.object = pod
				p.observed = p.observed || observed
				p.asked = p.asked && pod.DeletionTimestamp == nil
			}
			return
		case p.object.Name == pod.Name && versionOf(p.object) > versionOf(pod):
			return // a later one has the name already
		}
	}
	for _, p := range slices.Clone(k.pods) {
		if p.object.Name == pod.Name {
			k.forget(p.object.UID)
		}
	}
	if c, is := k.creating[target]; is && c.Revision == revisionOf(pod) {
		k.shown[target] = true // before the answer
	}
	if k.doubtful[target].Revision == revisionOf(pod) {
		delete(k.doubtful, target) // this may be the one
	}
	p := &knownPod{object: pod, target: target, observed: observed, made: !observed}
	k.pods = append(k.pods, p)
	k.byNode[target] = append(k.byNode[target], p)
}

func sameReadiness(a, b *corev1.Pod) bool {
	one, wasReady := readySince(a)
	other, isReady := readySince(b)
	return wasReady == isReady && one.Equal(other)
}

func (k *knowledge) forget(uid types.UID) {
	k.gone[uid] = true
	k.drop(uid)
}

// drop forgets a pod that may come back: one that was released may be adopted.
func (k *knowledge) drop(uid types.UID) {
	if p := k.pod(uid); p != nil {
		this := func(o *knownPod) bool { return o == p }
		k.pods = slices.DeleteFunc(k.pods, this)
		k.byNode[p.target] = slices.DeleteFunc(k.byNode[p.target], this)
	}
}

func (k *knowledge) pod(uid types.UID) *knownPod {
	for _, p := range k.pods {
		if p.object.UID == uid {
			return p
		}
	}
	return nil
}

// stays says whether no client is deleting a pod.
func (k *knowledge) stays(p *knownPod) bool {
	return p.object.DeletionTimestamp == nil && !p.asked && !k.deleting[p.object.UID]
}

// again says whether the deletion of a pod may be sent again: it was not
// answered, and may be done or not.
func (k *knowledge) again(p *knownPod) bool {
	return p.object.DeletionTimestamp == nil && p.asked && p.lost && !k.deleting[p.object.UID]
}

// lives says whether a pod stays, and has not come to an end.
func (k *knowledge) lives(p *knownPod) bool { return k.stays(p) && !isTerminal(p.object) }

// on returns the pods for a node, but not those of which only the object is
// left.
func (k *knowledge) on(node string) []*knownPod {
	ended := func(p *knownPod) bool { return p.object.DeletionTimestamp != nil && isTerminal(p.object) }
	pods := k.byNode[node]
	if slices.ContainsFunc(pods, ended) {
		return slices.DeleteFunc(slices.Clone(pods), ended)
	}
	return pods
}

// wants is what is asked for at a time.
type wants struct {
	*knowledge
	rollout.Spec
	rollout.Config
	now time.Time
}

func (w *wants) updated(p *knownPod) bool { return revisionOf(p.object) == w.Revision }

// ready says whether a pod is ready. One that was updated in place is not before
// it has restarted.
func ready(p *knownPod) bool {
	_, is := readySince(p.object)
	return is && !p.restarting
}

func (w *wants) available(p *knownPod) bool {
	since, _ := readySince(p.object)
	return ready(p) && !w.now.Before(since.Add(w.MinReady))
}

// runsOn and keepsOn are the placement.
func (w *wants) runsOn(node string) bool {
	object := w.nodes[node]
	return object != nil && admits(&w.Template.Spec, object, true)
}

func (w *wants) keepsOn(node string) bool {
	object := w.nodes[node]
	return object != nil && admits(&w.Template.Spec, object, false)
}

// doubts says whether a creation for a node, of whatever revision, may be done,
// now or later, although it was not answered. What the watch has not shown in
// time does not exist.
func (w *wants) doubts(node string) bool {
	lost, is := w.doubtful[node]
	return is && w.now.Before(lost.at.Add(5*time.Minute))
}

// awaits says whether a creation may be done by a call that was not answered. If
// it was sent again, and answered or shown, a former call is not expected any
// more. It may arrive all the same, and its pod is a duplicate then, which goes.
func (w *wants) awaits(c *rollout.Creation) bool {
	lost := w.doubtful[c.Node]
	return w.doubts(c.Node) && lost.Revision == c.Revision && lost.Attempt == c.Attempt
}

// living returns the pods of a node that live, current or former ones.
func (w *wants) living(node string, updated bool) []*knownPod {
	var all []*knownPod
	for _, p := range w.on(node) {
		if w.lives(p) && w.updated(p) == updated {
			all = append(all, p)
		}
	}
	return all
}

// serves says whether a node has a pod that is available and stays.
func (w *wants) serves(node string) bool {
	return slices.ContainsFunc(w.on(node), func(p *knownPod) bool {
		return w.stays(p) && w.available(p) && !w.secretly[p.object.UID]
	})
}

func (w *wants) ignored(node string) bool {
	object := w.nodes[node]
	return w.drawn().ignores && object != nil &&
		object.Status.Conditions[0].Status != corev1.ConditionTrue
}

// stranded says whether a pod waits for a node that lets none in, next to an
// old one.
func (w *wants) stranded(p *knownPod) bool {
	return p.object.Spec.NodeName == "" && !w.runsOn(p.target) && len(w.living(p.target, false)) > 0
}

func (w *wants) desired() int { return w.count(w.runsOn) }

func (w *wants) count(which func(node string) bool) int {
	n := 0
	for node := range w.nodes {
		if which(node) {
			n++
		}
	}
	return n
}

// amount is what a number or a percentage comes to, rounded up.
func (w *wants) amount(number int32, percent string) int {
	if percent == "" {
		return int(number)
	}
	p, err := strconv.Atoi(percent[:len(percent)-1])
	if err != nil {
		panic(err) // the histories make no others
	}
	return (p*w.desired() + 99) / 100
}

func (w *wants) maxSurge() int {
	return w.amount(w.Strategy.MaxSurge.IntVal, w.Strategy.MaxSurge.StrVal)
}

func (w *wants) maxUnavailable() int {
	most := w.amount(w.Strategy.MaxUnavailable.IntVal, w.Strategy.MaxUnavailable.StrVal)
	if most == 0 && w.maxSurge() == 0 {
		return 1
	}
	return most
}

func (w *wants) partition() int {
	return w.amount(w.Strategy.Partition.IntVal, w.Strategy.Partition.StrVal)
}

// surges says whether new pods come first. A percentage says so for no nodes,
// too.
func (w *wants) surges() bool {
	return !w.Strategy.OnDelete &&
		(w.Strategy.MaxSurge.IntVal > 0 || w.Strategy.MaxSurge.StrVal != "" &&
			w.Strategy.MaxSurge.StrVal != "0%")
}

// status counts nodes as a DaemonSet's status does.
func (w *wants) status() rollout.Status {
	var s rollout.Status
	for node := range w.nodes {
		pods := w.on(node)
		switch {
		case w.runsOn(node):
			s.Desired++
		case len(pods) > 0:
			s.Misscheduled++
		}
		if len(pods) == 0 || !w.runsOn(node) {
			continue
		}
		first := slices.MinFunc(pods, wasThereFirst)
		s.Current++
		if w.updated(first) {
			s.Updated++
		}
		if ready(first) {
			s.Ready++
		}
		if w.available(first) {
			s.Available++
		}
	}
	s.Unavailable = s.Desired - s.Available
	return s
}

// wasThereFirst is upstream's order: those that are scheduled, then the older
// ones.
func wasThereFirst(a, b *knownPod) int {
	x, y := a.object, b.object
	switch {
	case (x.Spec.NodeName == "") != (y.Spec.NodeName == ""):
		if x.Spec.NodeName != "" {
			return -1
		}
		return 1
	case !x.CreationTimestamp.Equal(&y.CreationTimestamp):
		return x.CreationTimestamp.Compare(y.CreationTimestamp.Time)
	case x.Name < y.Name:
		return -1
	}
	return 1
}
