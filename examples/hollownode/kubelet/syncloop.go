package kubelet

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// syncLoop is the loop of a kubelet over its pods. It has five inputs:
//
//	configuration: add, update and lose here, termination.remove
//	PLEG:          pleg.take, for a change that the runtime tells
//	sync tick:     perform, for a pod whose next sync is due
//	probes:        perform, for a probe that is due
//	housekeeping:  housekeeping.proceed, for a pod that is visited
type syncLoop struct {
	node *kubelet
	// pods are those of the node, the oldest first.
	pods []*podWorker
}

// perform does what is due of the node or one of its pods.
func (l *syncLoop) perform(now time.Time, item dueItem) {
	w, kind := item.Value, item.Key.kind
	switch {
	case kind == dueRound:
		l.node.housekeeping.proceed(now)
	case kind == dueCheck:
		l.node.runtime.check(now)
	case kind == dueRelist:
		l.node.pleg.relist(now)
	case w == nil || w.former():
	case kind == dueProbe:
		w.prober.run(now, item.Key.probe)
	case kind == duePurge:
		w.termination.forget(now)
	case kind == dueReconcile:
		w.publication.reconcile(now)
	case l.node.runtime.loop == loopStopped:
		w.again = true
		if kind == dueVolumes {
			w.doing = activityIdle
		}
	case kind == dueVolumes && !w.endWait(now):
		w.endSync(now, l.node.fleet.after(now, errorPeriod))
	default:
		w.sync(now)
	}
}

// add takes a new pod of the API. It is visited now unless the node's round
// comes to it.
func (l *syncLoop) add(now time.Time, pod *corev1.Pod) {
	w := newPodWorker(l.node, pod)
	i, round := l.place(w), &l.node.housekeeping
	switch {
	case round.visited == noRound:
		round.visit(now, w)
	case i < round.visited:
		round.visited++
		round.visit(now, w)
	}
}

// place adds a pod to those of its node, which are in the order of their
// creation, as the kubelet admits them. It returns its place.
func (l *syncLoop) place(w *podWorker) int {
	i, _ := slices.BinarySearchFunc(l.pods, w, func(a, b *podWorker) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), -1)
	})
	l.pods = slices.Insert(l.pods, i, w)
	l.node.fleet.pods[w.pod.UID] = w
	return i
}

// admit decides whether a node takes a new pod.
func (l *syncLoop) admit(now time.Time, w *podWorker) {
	l.node.pleg.inherit(now, w)
	if isTerminal(w.pod.Status.Phase) && len(w.observed.Containers) == 0 && !w.observed.Busy {
		// It ended before a restart of this process. If another client has made its
		// phase final, the ends of its containers may never have been written.
		w.publication.adopt(w.pod)
		if showsRunning(&w.pod.Status) {
			status := w.status(now, true)
			w.publish(now, finalStatus(now, w.pod, &status))
		}
		w.move(now, workerFinished)
		return
	}
	if w.pod.DeletionTimestamp != nil || isTerminal(w.pod.Status.Phase) {
		w.move(now, workerTerminating)
		return
	}
	rejection := admitUnderPressure(l.node.faults, w.pod)
	if rejection.Reason == "" {
		rejection = admit(l.node.object, w.pod, &l.node.used)
	}
	if rejection.Reason != "" {
		l.node.fleet.recorder.tellRejection(w, rejection)
		status := rejected(now, w.pod, rejection)
		if len(w.observed.Containers) > 0 || w.observed.Busy {
			// It was taken before a restart of this process.
			w.publish(now, status)
			w.move(now, workerTerminating)
			return
		}
		w.publish(now, finalStatus(now, w.pod, &status))
		w.move(now, workerFinished)
		return
	}
	w.move(now, workerSyncing)
}

// lose takes that the API server no longer has the object of a pod. Of a static
// pod that is its mirror, which comes again.
func (l *syncLoop) lose(now time.Time, w *podWorker, pod *corev1.Pod) {
	if isStatic(w.pod) {
		l.node.mirrorPods.lose(pod)
		l.node.mirrorPods.request(now, nameOf(pod))
	} else if l.node.fleet.pods[pod.UID] == w {
		w.termination.remove(now)
	}
}

// update takes a change of a pod. Its own status, which comes back, is no
// reason to sync it.
func (l *syncLoop) update(now time.Time, w *podWorker, old *corev1.Pod) {
	same := sameSpec(old, w.pod)
	if same && w.counted == old {
		w.counted = w.pod // takes the same room, and the former one can go
	}
	switch w.state {
	case workerNew:
		return
	case workerSyncing:
		if w.pod.DeletionTimestamp != nil || isTerminal(w.pod.Status.Phase) {
			w.move(now, workerTerminating)
			return
		}
	case workerTerminating:
		if w.termination.shorten() && w.doing == activityStopping {
			l.node.fleet.config.Runtime.Cancel(now, w.pod.UID)
		}
	}
	if !same || needsSync(old, w.pod) {
		w.requestSync(now)
	}
	w.publication.request(now)
	if !w.publication.arrived(w.pod, w.mayRun()) {
		w.schedule(dueReconcile, l.node.nextCompare(now))
		return
	}
	w.termination.clean(now)
}
