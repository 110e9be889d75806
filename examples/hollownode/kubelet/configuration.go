package kubelet

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// orphanGrace is the seconds in which a pod ends that only the runtime has.
// Source: HandlePodCleanups, v1.37.1.
const orphanGrace = int64(1)

// configuration is what a node is told to run besides the pods of the API: its
// static pods.
type configuration struct {
	node *kubelet
	// static are the static pods that the node is to run, as of the version
	// configured. It is nil without any.
	static     map[types.NamespacedName]*corev1.Pod
	configured uint64
}

// isCurrent reports whether the node knows the present static pods.
func (c *configuration) isCurrent() bool { return c.configured == c.node.fleet.static.version }

// merge merges the static pods of a node with those that it has. Each round
// of the node begins with it. Before the pods of the API are known too, nothing
// is added or removed. So an earlier process's containers are found first.
func (c *configuration) merge(now time.Time) {
	if !c.node.fleet.synced || c.node.object == nil {
		return
	}
	if static := &c.node.fleet.static; !c.isCurrent() {
		c.static, c.configured = static.of(c.node.name), static.version
	}
	for _, w := range c.node.syncLoop.pods {
		if isStatic(w.pod) && w.api == apiPresent && !c.wants(w.pod) {
			w.termination.remove(now)
		}
	}
	c.adoptFormer(now)
	for _, name := range slices.SortedFunc(maps.Keys(c.static), compareNames) {
		pod := c.static[name]
		if _, known := c.node.fleet.pods[pod.UID]; !known { // one that is ending comes back when it is forgotten
			c.node.syncLoop.place(newPodWorker(c.node, pod))
		}
		c.node.mirrorPods.request(now, name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(c.node.mirrorPods.byName), compareNames) {
		c.node.mirrorPods.request(now, name)
	}
}

// adoptFormer ends the static pods of other manifests that only the runtime
// has: theirs have changed or gone while the process was down. The next one of
// a name waits for the end of the former.
func (c *configuration) adoptFormer(now time.Time) {
	if len(c.static)+len(c.node.mirrorPods.byName) == 0 {
		return
	}
	for _, uid := range c.node.fleet.config.Runtime.Pods(now, c.node.name) {
		if c.node.fleet.pods[uid] != nil {
			continue
		}
		former := orphan(c.node, uid)
		name := c.node.fleet.config.Runtime.Name(now, uid)
		wanted, found := c.static[name]
		if m := c.node.mirrorPods.byName[name]; m != nil && isStatic(m.pod) && RuntimeUID(m.pod) == uid {
			*former = *m.pod // it tells how the pod ends
			former.UID, former.DeletionTimestamp = uid, nil
		} else {
			former.Namespace, former.Name = name.Namespace, name.Name
			former.Annotations = map[string]string{annotationSource: sourceFile}
			if !found {
				continue
			}
		}
		if !found || wanted.UID != uid {
			w := newPodWorker(c.node, former)
			w.api = apiGone
			c.node.syncLoop.place(w)
		}
	}
}

// orphan returns a pod of which only the UID is known.
func orphan(k *kubelet, uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid, DeletionGracePeriodSeconds: ptr.To(orphanGrace)},
		Spec:       corev1.PodSpec{NodeName: k.name},
	}
}

func compareNames(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

// sameSpec reports whether two objects of a pod have the same spec. Each change
// of a spec changes the generation, so most need no comparison.
func sameSpec(a, b *corev1.Pod) bool {
	return a.Generation > 0 && a.Generation == b.Generation || equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

// needsSync reports whether a pod has changed in what a sync reads besides its
// spec. Conditions matter to readiness gates.
func needsSync(old, pod *corev1.Pod) bool {
	return !maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations) ||
		!old.DeletionTimestamp.Equal(pod.DeletionTimestamp) ||
		!ptr.Equal(old.DeletionGracePeriodSeconds, pod.DeletionGracePeriodSeconds) ||
		len(pod.Spec.ReadinessGates) > 0 &&
			!equality.Semantic.DeepEqual(old.Status.Conditions, pod.Status.Conditions)
}

// reconfigure has a node configured again after the end of a static pod. Then
// its mirror goes, or one of its name or UID starts.
func (c *configuration) reconfigure(now time.Time, w *podWorker) {
	if isStatic(w.pod) {
		c.node.housekeeping.begin(now)
	}
}

// worker returns the record of the static pod that a node is to run under
// a name, or nil.
func (c *configuration) worker(name types.NamespacedName) *podWorker {
	pod, wanted := c.static[name]
	if !wanted {
		return nil
	}
	return c.node.fleet.pods[pod.UID]
}

// wants reports whether a node is to run this static pod.
func (c *configuration) wants(pod *corev1.Pod) bool {
	wanted, found := c.static[nameOf(pod)]
	return found && wanted.UID == pod.UID
}

// ending reports whether a static pod of a name, except one, is ending because
// it is no longer configured.
func (c *configuration) ending(name types.NamespacedName, except types.UID) bool {
	return slices.ContainsFunc(c.node.syncLoop.pods, func(w *podWorker) bool {
		return w.api == apiGone && w.state < workerFinished && w.pod.UID != except &&
			isStatic(w.pod) && nameOf(w.pod) == name
	})
}
