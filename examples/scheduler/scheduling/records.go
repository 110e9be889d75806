package scheduling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
)

// A phase is where a pod is in its life; see the package comment. Only
// Scheduler.enter changes it.
type phase uint8

const (
	waiting phase = iota // for a changed node, or for the end of its backoff
	pending              // to be decided about as soon as it is its turn
	busy                 // a task is under way
	assumed              // on its node, which the watch has not shown yet
	placed               // on its node, by the watch or a live read
)

func (p phase) String() string {
	if names := []string{"waiting", "pending", "busy", "assumed", "placed"}; int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// A pod is one that has a node, or that waits for one of ours.
type pod struct {
	fit.Pod
	object   *corev1.Pod
	id       types.UID
	phase    phase
	priority int32
	since    time.Time // first observed
	on       *node     // where it counts, if it is assumed or placed, or being bound

	// Of a pod that waits for a node:
	attempts  int
	tried     time.Time // last decided about
	missed    bool      // a node became useful during the task
	reported  string    // the message that its status has
	nominated *node
	victims   map[types.UID]*pod // that have yet to leave nominated
	barred    fit.Areas          // by pods on nodes, at Scheduler.exclusions
	barredAt  uint64             // zero: not known

	// Of a pod on a node:
	preemptor *pod // for which it has to leave
	refused   bool // its eviction was refused, by a PodDisruptionBudget for example
}

// A node is one that was observed, or that a pod names.
type node struct {
	name        string
	object      *corev1.Node // nil: it is not known, or gone
	allocatable fit.Amounts
	used        fit.Amounts
	pods        map[types.UID]*pod
	nominees    map[types.UID]*pod
	changed     bool // it is in Scheduler.changed
}

func newNode(name string) *node {
	return &node{
		name: name, used: fit.Amounts{}, pods: map[types.UID]*pod{}, nominees: map[types.UID]*pod{},
	}
}

// newPod returns the record of a pod that is observed for the first time.
func newPod(object *corev1.Pod, now time.Time) *pod {
	p := &pod{id: eviction.KeyOf(object).ID(), since: now, victims: map[types.UID]*pod{}}
	p.read(object)
	return p
}

// read takes the newest object.
func (p *pod) read(object *corev1.Pod) {
	p.object, p.Pod, p.barredAt = object, fit.Compile(object), 0
	p.priority = corev1helpers.PodPriority(object)
	if i := slices.IndexFunc(object.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	}); i >= 0 {
		p.reported = object.Status.Conditions[i].Message // by a former leader, for example
	}
}

// compare orders pods by priority, then by age. The more important one is
// smaller.
func (p *pod) compare(q *pod) int {
	return cmp.Or(cmp.Compare(q.priority, p.priority),
		p.object.CreationTimestamp.Compare(q.object.CreationTimestamp.Time), p.since.Compare(q.since),
		cmp.Compare(p.id, q.id))
}

func (p *pod) before(q *pod) bool { return p.compare(q) < 0 }

// sortedVictims returns the pods that have to leave for a pod, the least
// important first.
func (p *pod) sortedVictims() []*pod {
	return slices.SortedFunc(maps.Values(p.victims), func(a, b *pod) int { return b.compare(a) })
}

// wanted reports whether a pod is to be scheduled at all.
func (p *pod) wanted() bool {
	return p.object.DeletionTimestamp == nil && len(p.object.Spec.SchedulingGates) == 0
}

// leaving reports whether a pod is about to free what it takes. One that a
// budget holds back is not.
func (p *pod) leaving() bool {
	return p.object.DeletionTimestamp != nil || p.preemptor != nil && !p.refused
}

// evictable reports whether a pod may have to leave for another one.
func (p *pod) evictable() bool {
	return p.phase == placed && !p.leaving() && !eviction.IsMirrorPod(p.object) && !eviction.IsDaemonSetPod(p.object)
}
