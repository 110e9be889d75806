package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// housekeepingPeriod is how long a pod that has gone stays known.
const housekeepingPeriod = 2 * time.Second

// noRound is the count of visited pods of a node that has no round.
const noRound = -1

// housekeeping visits the pods of a node in rounds. It rebuilds those of a
// former life of the kubelet, does what has waited, and ends pods that only the
// runtime has.
type housekeeping struct {
	node *kubelet
	// visited is how many pods the round has visited, or noRound.
	visited int
}

// begin begins to visit all pods of a node, the oldest first. A round that
// is under way begins again.
func (h *housekeeping) begin(now time.Time) {
	h.visited = 0
	h.node.fleet.queue.Add(dueKey{node: h.node.name, kind: dueRound}, nil, now)
}

// proceed visits one pod of a node, or ends its round.
func (h *housekeeping) proceed(now time.Time) {
	h.node.fleet.recorder.tellStart(h.node)
	if h.node.runtime.loop == loopStopped {
		return // until it runs again
	}
	if h.visited == 0 {
		h.node.configuration.merge(now)
	}
	if h.visited < len(h.node.syncLoop.pods) {
		w := h.node.syncLoop.pods[h.visited]
		h.visited++
		h.visit(now, w)
		h.node.fleet.queue.Add(dueKey{node: h.node.name, kind: dueRound}, nil, now)
		return
	}
	h.visited = noRound
	switch {
	case h.node.object == nil:
		h.dropNode()
	case h.node.runtime.loop != loopRunning || !h.node.hears():
		// The runtime or the API server cannot tell. It is asked again when it
		// answers.
	case h.node.fleet.synced:
		h.adoptOrphans(now)
	default:
		h.node.fleet.unlisted = append(h.node.fleet.unlisted, h.node)
	}
}

// visit rebuilds a pod that its kubelet has known in a former life, and admits
// one that waits for its node.
func (h *housekeeping) visit(now time.Time, w *podWorker) {
	if w.former() {
		w.dropWork()
		w.see()
		w.reset()
		if w.api == apiGone && !h.endsStill(now, w) {
			w.termination.forget(now)
			return
		}
	}
	switch {
	case h.node.object == nil || w.state == workerNew && !w.hears():
	case w.state == workerNew && isStatic(w.pod):
		h.visitStatic(now, w)
	case w.state == workerNew && w.api == apiGone:
		w.termination.remove(now)
	case w.state == workerNew:
		w.see()
		h.node.syncLoop.admit(now, w)
	default:
		h.catchUp(now, w)
	}
}

// visitStatic admits a static pod, or ends one of a former life. Of two pods of
// a name the second starts when the first has ended.
func (h *housekeeping) visitStatic(now time.Time, w *podWorker) {
	switch {
	case w.api == apiGone && h.node.runtime.loop != loopRunning:
		// Whether it has containers is known when the runtime answers again.
	case w.api == apiGone:
		w.termination.remove(now)
	case !h.node.configuration.ending(nameOf(w.pod), w.pod.UID):
		w.pod = seeded(w.pod, w.shown())
		h.node.syncLoop.admit(now, w)
	}
}

// endsStill reports whether a static pod that is no longer configured has
// containers of a former life. The next one of its name waits until they end.
func (h *housekeeping) endsStill(now time.Time, w *podWorker) bool {
	_, found := h.node.fleet.config.Runtime.Pod(now, w.pod.UID)
	return found && isStatic(w.pod)
}

// catchUp does what of a pod has waited for the runtime or the loop.
func (h *housekeeping) catchUp(now time.Time, w *podWorker) {
	if w.hears() {
		h.hear(now, w)
	}
	if report := w.report; report != nil {
		w.report = nil
		h.node.pleg.take(now, w, cri.Event{Node: h.node.name, Pod: w.pod.UID, Ended: report})
	} else {
		h.node.pleg.take(now, w, cri.Event{Node: h.node.name, Pod: w.pod.UID})
	}
	if w.again {
		w.schedule(dueSync, h.node.fleet.spread(now, networkPeriod))
	}
}

// hear does what the API server has wanted of a pod meanwhile, and writes what
// it lacks.
func (h *housekeeping) hear(now time.Time, w *podWorker) {
	if w.api == apiGone {
		w.termination.remove(now)
	}
	if old := w.pod; w.see() {
		h.node.syncLoop.update(now, w, old)
	}
	if isStatic(w.pod) && h.node.hears() {
		h.node.mirrorPods.compare(now, w, false)
	}
	w.publication.request(now)
}

// adoptOrphans ends the pods of a node that only its runtime has.
func (h *housekeeping) adoptOrphans(now time.Time) {
	for _, uid := range h.node.fleet.config.Runtime.Pods(now, h.node.name) {
		if _, known := h.node.fleet.pods[uid]; known {
			continue
		}
		state, _ := h.node.fleet.config.Runtime.Pod(now, uid)
		w := newPodWorker(h.node, orphan(h.node, uid))
		w.api, w.observed = apiGone, state
		if state.Busy {
			w.doing = activityRunning
		}
		h.node.syncLoop.place(w)
		w.move(now, workerTerminating)
	}
}

// dropNode forgets a node that is not observed, when it has no pods, no round,
// and is not to register.
func (h *housekeeping) dropNode() {
	k := h.node
	if k.object != nil || h.visited != noRound || k.nodeStatus.unregistered != nil {
		return
	}
	if len(k.syncLoop.pods)+len(k.mirrorPods.byName) == 0 {
		k.fleet.queue.Remove(dueKey{node: k.name, kind: dueRelist})
		delete(k.fleet.nodes, k.name)
	}
}
