package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// beginLife makes the kubelet of a node start again. It remembers nothing of
// its pods. The next round rebuilds them.
func (f *Fleet) beginLife(now time.Time, n *nodeRecord) {
	n.life++
	f.started(now, n)
	n.used = usage{}
	n.loop, n.networkDown = loopRunning, n.faults.NetworkDown
	f.queue.Remove(dueKey{node: n.name, kind: dueCheck})
	if n.faults.RuntimeDown {
		f.beginStopped(now, n)
	}
	f.beginRound(now, n)
}

// beginRound begins to visit all pods of a node, the oldest first. A round that
// is under way begins again.
func (f *Fleet) beginRound(now time.Time, n *nodeRecord) {
	n.visited = 0
	f.queue.Add(dueKey{node: n.name, kind: dueRound}, nil, now)
}

// reboot reboots a machine, which restarts its kubelet.
func (f *Fleet) reboot(now time.Time, n *nodeRecord, bootID string) {
	n.bootID = bootID
	f.config.Runtime.Reboot(now, n.name)
	f.beginLife(now, n)
}

// proceedRound visits one pod of a node, or ends its round.
func (f *Fleet) proceedRound(now time.Time, n *nodeRecord) {
	f.tellStart(n)
	if n.loop == loopStopped {
		return // until it runs again
	}
	if n.visited == 0 {
		f.configure(now, n)
	}
	if n.visited < len(n.pods) {
		r := n.pods[n.visited]
		n.visited++
		f.visit(now, r)
		f.queue.Add(dueKey{node: n.name, kind: dueRound}, nil, now)
		return
	}
	n.visited = noRound
	switch {
	case n.node == nil:
		f.dropNode(n)
	case n.loop != loopRunning || !n.hears():
		// The runtime or the API server cannot tell. It is asked again when it
		// answers.
	case f.synced:
		f.adoptOrphans(now, n)
	default:
		f.unlisted = append(f.unlisted, n)
	}
}

// visit rebuilds a pod that its kubelet has known in a former life, and admits
// one that waits for its node.
func (f *Fleet) visit(now time.Time, r *podRecord) {
	if r.former() {
		f.dropWork(r)
		r.see()
		*r = podRecord{node: r.node, pod: r.pod, api: r.api, back: r.back, life: r.node.life}
		if r.api == apiGone && !f.endsStill(now, r) {
			f.forget(now, r)
			return
		}
	}
	switch {
	case r.node.node == nil || r.state == workerNew && !r.hears():
	case r.state == workerNew && isStatic(r.pod):
		f.visitStatic(now, r)
	case r.state == workerNew && r.api == apiGone:
		f.remove(now, r)
	case r.state == workerNew:
		r.see()
		f.admit(now, r)
	default:
		f.catchUp(now, r)
	}
}

// visitStatic admits a static pod, or ends one of a former life. Of two pods of
// a name the second starts when the first has ended.
func (f *Fleet) visitStatic(now time.Time, r *podRecord) {
	switch {
	case r.api == apiGone && r.node.loop != loopRunning:
		// Whether it has containers is known when the runtime answers again.
	case r.api == apiGone:
		f.remove(now, r)
	case !r.node.ending(nameOf(r.pod), r.pod.UID):
		r.pod = seeded(r.pod, r.shown())
		f.admit(now, r)
	}
}

// endsStill reports whether a static pod that is no longer configured has
// containers of a former life. The next one of its name waits until they end.
func (f *Fleet) endsStill(now time.Time, r *podRecord) bool {
	_, found := f.config.Runtime.Pod(now, r.pod.UID)
	return found && isStatic(r.pod)
}

// catchUp does what of a pod has waited for the runtime or the loop.
func (f *Fleet) catchUp(now time.Time, r *podRecord) {
	if r.hears() {
		f.hear(now, r)
	}
	if report := r.report; report != nil {
		r.report = nil
		f.runtimeEvent(now, cri.Event{Node: r.node.name, Pod: r.pod.UID, Ended: report})
	} else {
		f.runtimeEvent(now, cri.Event{Node: r.node.name, Pod: r.pod.UID})
	}
	if r.again {
		f.schedule(r, dueSync, f.spread(now, networkPeriod))
	}
}

// hear does what the API server has wanted of a pod meanwhile, and writes what
// it lacks.
func (f *Fleet) hear(now time.Time, r *podRecord) {
	if r.api == apiGone {
		f.remove(now, r)
	}
	if old := r.pod; r.see() {
		f.update(now, r, old)
	}
	if isStatic(r.pod) && r.node.hears() {
		f.compareMirror(now, r, false)
	}
	f.requestWrite(now, r)
}

// see takes an update that has waited, and reports whether there was one.
func (r *podRecord) see() bool {
	if r.unseen == nil {
		return false
	}
	r.pod, r.unseen = r.unseen, nil
	return true
}

// resume does one thing that has waited until all pods were known, and reports
// whether there was one.
func (f *Fleet) resume(now time.Time) bool {
	switch {
	case !f.synced:
		return false
	case len(f.removals) > 0:
		uid := f.removals[0]
		f.removals = f.removals[1:]
		if r, known := f.pods[uid]; known {
			f.remove(now, r)
		}
		return true
	case len(f.unlisted) > 0:
		n := f.unlisted[0]
		f.unlisted = f.unlisted[1:]
		switch {
		case n.node == nil || n.visited != noRound || n.loop != loopRunning:
		case len(f.manifests) > 0:
			f.beginRound(now, n) // its containers may be of static pods
		default:
			f.adoptOrphans(now, n)
		}
		return true
	default:
		return false
	}
}
