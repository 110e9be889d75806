package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// isMirror reports whether a pod of the API shows a static pod.
func isMirror(pod *corev1.Pod) bool { return shows(pod) != "" }

// shows returns the UID of the static pod that a mirror shows.
func shows(mirror *corev1.Pod) types.UID {
	return types.UID(mirror.Annotations["kubernetes.io/config.mirror"])
}

func manifestOf(pod *corev1.Pod) string { return pod.Annotations[ManifestAnnotation] }

// addStatic adds the lives of the static pods that have ever run.
func (x *index) addStatic(h *History) {
	for _, run := range h.Runs {
		if run.Manifest == "" || x.byUID[run.Pod] != nil {
			continue
		}
		spec := h.manifest(run.Manifest).DeepCopy()
		spec.Name, spec.Spec.NodeName = run.PodName, run.Node
		l := &life{uid: run.Pod, spec: spec}
		x.byUID[l.uid] = l
		x.static = append(x.static, l)
	}
}

// manifest returns the one of a name of manifests.
func (h *History) manifest(name string) *corev1.Pod {
	for _, m := range h.Manifests {
		for _, pod := range m.Pods {
			if manifestOf(pod) == name {
				return pod
			}
		}
	}
	return &corev1.Pod{}
}

// configured reports whether each node was to run a manifest all through a
// time.
func (h *History) configured(manifest string, from, to time.Time) bool {
	is := false
	for _, m := range h.Manifests {
		if m.At.After(to) {
			break
		}
		if was := is; was && !m.At.Before(from) && !m.has(manifest) {
			return false
		}
		is = m.has(manifest)
	}
	return is
}

func (m *Manifests) has(manifest string) bool {
	return slices.ContainsFunc(m.Pods, func(pod *corev1.Pod) bool { return manifestOf(pod) == manifest })
}

// introduced returns when nodes were first to run a manifest.
func (h *History) introduced(manifest string) time.Time {
	for _, m := range h.Manifests {
		if m.has(manifest) {
			return m.At
		}
	}
	return time.Time{}
}

// createdMirror checks a pod that a kubelet has created.
func (c *checker) createdMirror(l *life, change *Change) {
	if !isMirror(l.spec) || l.spec.Spec.NodeName != change.By.Node {
		c.violate(OwnPods, change.At, "%s is created by %s", l, change.By.Node)
	}
	if !c.history.configured(manifestOf(l.spec), change.By.Decided, change.By.Decided) {
		c.violate(MirrorShown, change.At, "%s is created, and its manifest was away", l)
	}
}

// stays reports whether a pod that nothing has deleted was to stay when its
// kubelet decided to remove it. A mirror stays with its manifest and its node.
func (c *checker) stays(l *life, change *Change) bool {
	if !isMirror(l.spec) {
		return true
	}
	decided := change.By.Decided
	owner := l.spec.OwnerReferences[0].UID
	var node types.UID
	for _, other := range c.history.Changes {
		if other.Kind == network.Nodes && other.After != nil && other.After.GetName() == l.spec.Spec.NodeName &&
			!other.At.After(change.At) {
			node = other.After.GetUID()
		}
	}
	return node == owner && c.history.configured(manifestOf(l.spec), decided, decided)
}

// mirror checks a mirror against its static pod.
func (c *checker) mirror(l *life) {
	for _, change := range l.changes {
		before, after := change.pods()
		if change.By == nil || before == nil || after == nil || final(before.Status.Phase) || !final(after.Status.Phase) {
			continue
		}
		for _, run := range l.runs {
			if run.runsAt(change.At) {
				c.violate(EndedFirst, change.At, "%s is shown as %s while %s runs", l, after.Status.Phase, run.ID)
			}
		}
	}
}

// staticPods checks what of static pods is no question of their mirrors, and
// how both are in the end.
func (c *checker) staticPods() {
	for _, l := range c.static {
		c.order(l, c.history.introduced(manifestOf(l.spec)))
		c.containers(l)
		c.oneStatic(l)
		c.staysUp(l)
		for _, run := range l.runs {
			if c.runsOn(run) && !c.history.configured(run.Manifest, c.history.End, c.history.End) {
				c.violate(Finished, c.history.End, "%s of %s runs on, and its manifest is away", run.ID, l)
			}
		}
	}
	c.mirrorsShown()
}

// oneStatic checks that no other static pod of the name runs meanwhile.
func (c *checker) oneStatic(l *life) {
	for _, run := range l.runs {
		for _, other := range c.static {
			if run.Started.IsZero() || other == l || other.spec.Name != l.spec.Name {
				continue
			}
			for _, before := range other.runs {
				if before.runsAt(run.Started) {
					c.violate(OneStatic, run.Started, "%s of %s starts while %s of %s runs", run.ID, l, before.ID, other)
				}
			}
		}
	}
}

// staysUp checks that nothing stops a container that is to run for ever.
func (c *checker) staysUp(l *life) {
	if l.spec.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		return
	}
	for _, run := range l.runs {
		if run.Stopped.IsZero() || l.mayBeKilled(run) {
			continue
		}
		if c.history.configured(run.Manifest, run.begun(), run.Stopped) {
			c.violate(StaysUp, run.Stopped, "%s of %s is stopped, and its manifest was there", run.ID, l)
		}
	}
}

// mirrorsShown checks which mirrors there are in the end, and what they show.
func (c *checker) mirrorsShown() {
	var wanted []*corev1.Pod
	if n := len(c.history.Manifests); n > 0 {
		wanted = c.history.Manifests[n-1].Pods
	}
	shown := map[string]bool{} // node and manifest
	for _, l := range c.lives {
		_, pod := l.changes[len(l.changes)-1].pods()
		if pod == nil || !isMirror(l.spec) {
			continue
		}
		if !slices.ContainsFunc(wanted, func(p *corev1.Pod) bool { return manifestOf(p) == manifestOf(pod) }) ||
			pod.DeletionTimestamp != nil {
			c.violate(MirrorShown, c.history.End, "%s is there, and its manifest is away or it was deleted", l)
			continue
		}
		shown[pod.Spec.NodeName+" "+manifestOf(pod)] = true
		c.mirrorEnd(l, pod)
	}
	for node := range c.lastNodes() {
		for _, pod := range wanted {
			if !shown[node+" "+manifestOf(pod)] {
				c.violate(MirrorShown, c.history.End, "%s has no mirror on %s", pod.Name, node)
			}
		}
	}
}

// onLastMachine returns a life with only the runs of the last machine of its
// node.
func (c *checker) onLastMachine(l *life) *life {
	last := *l
	for _, s := range c.history.Starts {
		if s.Lost && s.Node == l.spec.Spec.NodeName {
			last.runs = slices.DeleteFunc(slices.Clone(last.runs), func(r *Run) bool { return r.begun().Before(s.At) })
		}
	}
	return &last
}

// mirrorEnd checks what a mirror shows in the end, and that its static pod goes
// on. One that a full node has rejected does not.
func (c *checker) mirrorEnd(l *life, pod *corev1.Pod) {
	l = c.onLastMachine(l)
	switch rejected := pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "OutOfpods"; {
	case !final(pod.Status.Phase):
		c.progress(l)
	case l.spec.Spec.RestartPolicy == corev1.RestartPolicyAlways && !rejected:
		c.violate(Started, c.history.End, "%s is %s, and is to run for ever", l, pod.Status.Phase)
	}
	c.statuses(l, pod)
	c.quiet(l)
}
