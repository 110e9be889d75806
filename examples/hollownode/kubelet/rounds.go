package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

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

// beginStopped stops a kubelet that starts without a runtime, because it has
// never had an answer.
func (f *Fleet) beginStopped(now time.Time, n *nodeRecord) {
	n.lastGood, n.lastRelist = time.Time{}, time.Time{}
	f.stopLoop(now, n)
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
		*r = podRecord{node: r.node, pod: r.pod, api: r.api, back: r.back, life: r.node.life, seen: f.age(now)}
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

// setFaults makes the faults of a node hold. What the kubelet knows of them
// follows when it checks.
func (f *Fleet) setFaults(now time.Time, n *nodeRecord, faults Faults) {
	was, first := n.faults, n.bootID == ""
	n.faults = faults
	if f.restarted(now, n, was, first) {
		return
	}
	if was.Silent && !faults.Silent {
		n.compares = f.spread(now.Add(returnPause), reconcilePeriod/2)
		f.beginRound(now, n)
	}
	if n.isReady() && now.After(n.started) {
		n.searching = false // the first check has found it, and its sender reports it
	}
	switch {
	case faults.RuntimeDown && !now.After(n.started):
		f.beginStopped(now, n)
	case n.loop == loopRunning && faults.RuntimeDown:
		n.loop, n.lastGood = loopFailing, n.lastCheck(now)
		n.lastRelist = n.started.Add(now.Sub(n.started).Truncate(relistPeriod))
		f.scheduleCheck(n, n.lastGood.Add(checkThreshold))
	case n.loop == loopFailing && !faults.RuntimeDown:
		n.loop = loopRunning
		f.beginRound(now, n)
		f.scheduleCheck(n, n.nextCheck(now))
	case was != faults && !faults.RuntimeDown:
		f.scheduleCheck(n, n.nextCheck(now))
	}
}

// restarted reports whether the present faults reboot a machine or restart its
// kubelet, and does it. What ran before this process is known from the status.
func (f *Fleet) restarted(now time.Time, n *nodeRecord, was Faults, first bool) bool {
	wanted := identity("boot", n.name, n.faults.Boot)
	reported := n.node.Status.NodeInfo.BootID
	switch {
	case first && (reported == "" || reported == wanted):
		n.bootID = wanted
		return false
	case first || was.Boot != n.faults.Boot:
		f.reboot(now, n, wanted)
	case was.Start != n.faults.Start:
		f.beginLife(now, n)
	default:
		return false
	}
	return true
}

func (f *Fleet) scheduleCheck(n *nodeRecord, due time.Time) { f.scheduleNode(n, dueCheck, due) }

// check is the kubelet's check at its runtime, and a retry of its loop.
func (f *Fleet) check(now time.Time, n *nodeRecord) {
	if n.faults.RuntimeDown {
		if n.loop == loopFailing {
			f.stopLoop(now, n)
		}
		return
	}
	hadNetwork := !n.networkDown
	n.networkDown = n.faults.NetworkDown
	n.lastGood = now
	f.foundReady(now, n)
	if n.loop == loopStopped {
		if retry := nextRetry(n.stoppedAt, now); now.Before(retry) {
			f.scheduleCheck(n, retry)
			return
		}
		n.loop = loopRunning
		if n.compares.Before(now) {
			// What came meanwhile has waited for the loop, for up to 10 s. In a kubelet
			// it would wait for the next comparison as well.
			n.compares = f.spread(now, reconcilePeriod/10)
		}
		f.beginRound(now, n)
		return
	}
	if !hadNetwork && !n.networkDown {
		f.beginRound(now, n)
	}
}

// foundReady reports at once that a node is Ready for the first time. Later its
// sender does.
func (f *Fleet) foundReady(now time.Time, n *nodeRecord) {
	if n.networkDown || !n.searching {
		return
	}
	n.searching = false
	if now.Sub(n.started) < firstReports {
		f.scheduleNode(n, dueReport, now)
	}
}

// stopLoop stops the loop of a kubelet. Pods that come wait for the round with
// which it goes on.
func (f *Fleet) stopLoop(now time.Time, n *nodeRecord) {
	n.loop, n.stoppedAt, n.visited = loopStopped, now, 0
}

// forget forgets a pod that has ended. One that is back begins again, as does a
// static pod that is configured again.
func (f *Fleet) forget(now time.Time, r *podRecord) {
	again := r.back != nil || isStatic(r.pod) && r.node.wants(r.pod)
	if again && r.state == workerFinished && r.basis != basisNone {
		*f.totals.restarted.of(r.pod)++
	}
	f.purge(now, r)
	if r.back != nil {
		f.add(now, r.back)
	}
}

// add adds a pod of the API.
func (f *Fleet) add(now time.Time, pod *corev1.Pod) {
	n := f.node(now, pod.Spec.NodeName)
	r := &podRecord{node: n, pod: pod, life: n.life}
	f.pods[pod.UID] = r
	f.insert(now, r)
}

// insert adds a pod to those of its node. It is visited now unless the node's
// round comes to it.
func (f *Fleet) insert(now time.Time, r *podRecord) {
	n := r.node
	i := n.insert(r)
	switch {
	case n.visited == noRound:
		f.visit(now, r)
	case i < n.visited:
		n.visited++
		f.visit(now, r)
	}
}

// relistAll finds what the runtime of a node should have told and did not. That
// is the end of a plan, a change of a container, or a pod. Nothing that it has
// told waits to be taken now.
func (f *Fleet) relistAll(now time.Time, n *nodeRecord) {
	if n.node == nil {
		return // the next one of its name is relisted from its start on
	}
	f.scheduleNode(n, dueRelist, f.after(now, fullRelistPeriod))
	if n.loop != loopRunning || !f.synced {
		return // the round that comes then relists
	}
	for _, r := range n.pods {
		if r.doing.plans() && !r.former() && r.report == nil && !f.busy(now, r) {
			f.endPlan(now, r, &cri.Report{Node: n.name, Pod: r.pod.UID, Canceled: true})
		}
	}
	f.beginRound(now, n)
}

// adoptOrphans ends the pods of a node that only its runtime has.
func (f *Fleet) adoptOrphans(now time.Time, n *nodeRecord) {
	for _, uid := range f.config.Runtime.Pods(now, n.name) {
		if _, known := f.pods[uid]; known {
			continue
		}
		state, _ := f.config.Runtime.Pod(now, uid)
		r := &podRecord{node: n, pod: orphan(n, uid), api: apiGone, life: n.life, observed: state}
		if state.Busy {
			r.doing = activityRunning
		}
		f.pods[uid] = r
		n.insert(r)
		f.adoptRunning(r)
		f.move(now, r, workerTerminating)
	}
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
