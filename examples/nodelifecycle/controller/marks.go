package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// marks is the part that has pods of nodes that are not ready marked not ready,
// too. It is told that a pod, or the pods of a node, may need that, and how a
// mark or a read of a pod has ended. It hands out marks, and reads of pods whose
// mark was refused. It reads what objects knows.
type marks struct {
	config  Config
	objects *objects

	queue *timedqueue.Queue[types.UID, *pod]
	// refused are the pods that have to be read before they are marked.
	refused map[types.UID]struct{}
	// damped counts the marks that had to wait for the pace of their nodes.
	damped    int
	staleness staleness
}

func newMarks(config Config, o *objects, now time.Time) (*marks, error) {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[types.UID, *pod]{
		Backoff: config.Backoff,
	}, now)
	return &marks{
		config: config, objects: o, queue: queue, refused: make(map[types.UID]struct{}),
	}, err
}

// planNode plans the marks of all pods of a node whose readiness may have
// changed. It returns how many pods it has visited.
func (m *marks) planNode(now time.Time, n *node) int {
	if !n.notReady() || !m.of(n) {
		return 0
	}
	pods := m.objects.podsOn[n.object.Name]
	for _, p := range pods {
		m.planOn(now, n, p)
	}
	return len(pods)
}

// of reports whether pods of a node are marked at all.
func (m *marks) of(n *node) bool {
	return m.config.MarksPods == nil || m.config.MarksPods(n.object)
}

// plan has a pod marked not ready if it needs that.
func (m *marks) plan(now time.Time, p *pod) {
	if n := m.objects.nodeOf(p); n != nil && m.of(n) {
		m.planOn(now, n, p)
	}
}

// planOn has a pod of a node marked not ready if it needs that. In an episode in
// which a pod was marked no other waits.
func (m *marks) planOn(now time.Time, n *node, p *pod) {
	if !needsMark(n, p) {
		return
	}
	p.wanted = n.episode
	next := now
	if n.markedEpisode != n.episode {
		n.marking.calmDown(now)
		next = latest(now, n.marking.next(false))
	}
	if m.queue.Add(PodID(p.object), p, next) && next.After(now) {
		m.damped++
	}
}

// forget drops a pod that was deleted.
func (m *marks) forget(id types.UID) {
	m.queue.Remove(id)
	delete(m.refused, id)
}

// start hands out the next pod that has to be marked not ready. It may hand out
// none while thousands of pods need no mark any more.
func (m *marks) start(now time.Time) (PodMark, bool) {
	for range mostVisited {
		item, ok := m.queue.Start(now)
		if !ok {
			return PodMark{}, false
		}
		if mark, ok := m.markOf(now, item); ok {
			return mark, true
		}
		m.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	}
	return PodMark{}, false
}

func (m *marks) markOf(now time.Time, item timedqueue.Item[types.UID, *pod]) (PodMark, bool) {
	p := item.Value
	n := m.objects.nodeOf(p)
	if n == nil || !needsMark(n, p) || !m.of(n) {
		return PodMark{}, false
	}
	if _, must := m.refused[PodID(p.object)]; must {
		return PodMark{Action: PodActionRead, Pod: p.object, item: item}, true
	}
	data, change, err := nodehealth.PodNotReadyPatch(p.object, now)
	if err != nil || !change {
		return PodMark{}, false
	}
	patch := Patch{nodehealth.PatchType, data, "status"}
	return PodMark{PodActionMark, p.object, patch, n.episode, item, now}, true
}

// finish takes the result of a mark, and reports whether a pod that is known was
// marked. The pod has to be planned again. One whose mark was refused is read
// before it is marked again.
func (m *marks) finish(now time.Time, mark PodMark, result Result[*corev1.Pod]) (marked bool) {
	id := PodID(mark.Pod)
	p, known := m.objects.pods[id]
	marked = known && result.Object != nil
	if marked {
		p.marked = mark.episode
	}
	err := result.failure()
	m.queue.Finish(now, mark.item, resultOf(err))
	if known && m.staleness.refuses(err) {
		m.refused[id] = struct{}{}
	}
	n := m.objects.nodes[mark.Pod.Spec.NodeName]
	if n != nil && result.Object != nil && n.markedEpisode != mark.episode {
		n.markedEpisode = mark.episode
		n.marking.count(now)
	}
	return marked
}

// noteRead records what a live read of a pod has shown, and reports whether that
// is news.
func (m *marks) noteRead(p *pod, read PodMark, live *corev1.Pod) bool {
	delete(m.refused, PodID(live))
	return m.staleness.shows(p.object, read.Pod, live)
}

// finishRead ends a read of a pod, which has to be planned again.
func (m *marks) finishRead(now time.Time, read PodMark, err error) {
	m.queue.Finish(now, read.item, resultOfRead(m.config.Backoff, now, err))
}

// A PodMark is what to do about a pod on a node that is not ready.
type PodMark struct {
	Action PodAction
	Pod    *corev1.Pod
	// Patch is empty for PodActionRead.
	Patch Patch

	episode   int // of the node
	item      timedqueue.Item[types.UID, *pod]
	startedAt time.Time
}

// PodAction is what a [PodMark] asks for, in the words of logs and metrics.
type PodAction string

const (
	// PodActionMark says that the pod is not ready either.
	PodActionMark PodAction = "mark pod not ready"
	// PodActionRead reads the pod from the API server, which has refused a mark
	// that was computed from this version of it.
	PodActionRead PodAction = "read pod"
)

// A marker is the core of the marks of pods.
type marker struct{ *Controller }

// Start hands out the next pod that has to be marked not ready.
func (c marker) Start(now time.Time) (PodMark, bool) { return c.marks.start(now) }

// Next returns when a pod may next be marked.
func (c marker) Next(now time.Time) (time.Time, bool) { return c.marks.queue.Next(now) }

// Finish takes the result of a mark, or of the read before it.
func (c marker) Finish(now time.Time, mark PodMark, result Result[*corev1.Pod]) {
	isRead := mark.Action == PodActionRead
	c.noteAnswer(now, mark.startedAt, !isRead && result.isStored())
	if isRead {
		c.finishRead(now, mark, result)
	} else if c.marks.finish(now, mark, result) {
		c.told.announce(podReference(mark.Pod.Namespace, mark.Pod.Name, mark.Pod.UID),
			corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	if p, known := c.objects.pods[PodID(mark.Pod)]; known {
		c.marks.plan(now, p) // its node may have recovered and fallen again
	}
}

// finishRead takes the result of PodActionRead. Another pod of that name waits
// for the watch, like one that is gone.
func (c marker) finishRead(now time.Time, read PodMark, result Result[*corev1.Pod]) {
	live, err := result.Object, result.failure()
	if err == nil && PodID(live) != PodID(read.Pod) {
		err = apierrors.NewNotFound(corev1.Resource("pods"), live.Name)
	}
	p, known := c.objects.pods[PodID(read.Pod)]
	if known && err == nil && c.marks.noteRead(p, read, live) && p.object != live {
		c.ObservePod(now, live)
	}
	c.marks.finishRead(now, read, err)
}
