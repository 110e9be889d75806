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

// configure merges the static pods of a node with those that it has. Each round
// of the node begins with it. Before the pods of the API are known too, nothing
// is added or removed. So an earlier process's containers are found first.
func (f *Fleet) configure(now time.Time, n *nodeRecord) {
	if !f.synced || n.node == nil {
		return
	}
	if n.configured != f.manifestVersion {
		n.static, n.configured = f.staticPods(n), f.manifestVersion
	}
	for _, r := range n.pods {
		if isStatic(r.pod) && r.api == apiPresent && !n.wants(r.pod) {
			f.remove(now, r)
		}
	}
	f.adoptFormer(now, n)
	for _, name := range slices.SortedFunc(maps.Keys(n.static), compareNames) {
		pod := n.static[name]
		if _, known := f.pods[pod.UID]; !known { // one that is ending comes back when it is forgotten
			r := &podRecord{node: n, pod: pod, life: n.life}
			f.pods[pod.UID] = r
			n.insert(r)
		}
		f.requestMirror(now, n, name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(n.mirrors), compareNames) {
		f.requestMirror(now, n, name)
	}
}

// adoptFormer ends the static pods of other manifests that only the runtime
// has: theirs have changed or gone while the process was down. The next one of
// a name waits for the end of the former.
func (f *Fleet) adoptFormer(now time.Time, n *nodeRecord) {
	if len(n.static)+len(n.mirrors) == 0 {
		return
	}
	for _, uid := range f.config.Runtime.Pods(now, n.name) {
		if f.pods[uid] != nil {
			continue
		}
		former := orphan(n, uid)
		name := f.config.Runtime.Name(now, uid)
		wanted, found := n.static[name]
		if m := n.mirrors[name]; m != nil && isStatic(m.pod) && RuntimeUID(m.pod) == uid {
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
			r := &podRecord{node: n, pod: former, api: apiGone, life: n.life}
			f.pods[uid] = r
			n.insert(r)
		}
	}
}

// orphan returns a pod of which only the UID is known.
func orphan(n *nodeRecord, uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid, DeletionGracePeriodSeconds: ptr.To(orphanGrace)},
		Spec:       corev1.PodSpec{NodeName: n.name},
	}
}

// staticPods returns the static pods that a node is to run, or nil.
func (f *Fleet) staticPods(n *nodeRecord) map[types.NamespacedName]*corev1.Pod {
	if len(f.manifests) == 0 {
		return nil
	}
	pods := make(map[types.NamespacedName]*corev1.Pod, len(f.manifests))
	for _, m := range f.manifests {
		pod := newStaticPod(m.pod, m.text, n.name)
		pods[nameOf(pod)] = pod
	}
	return pods
}

func compareNames(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

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

// update takes a change of a pod. Its own status, which comes back, is no
// reason to sync it.
func (f *Fleet) update(now time.Time, r *podRecord, old *corev1.Pod) {
	same := sameSpec(old, r.pod)
	if same && r.counted == old {
		r.counted = r.pod // takes the same room, and the former one can go
	}
	switch r.state {
	case workerNew:
		return
	case workerSyncing:
		if r.pod.DeletionTimestamp != nil || isTerminal(r.pod.Status.Phase) {
			f.move(now, r, workerTerminating)
			return
		}
	case workerTerminating:
		if grace := effectiveGrace(r.grace, r.pod, nil); grace < r.grace {
			r.grace = grace
			if r.doing == activityStopping {
				f.config.Runtime.Cancel(now, r.pod.UID)
			}
		}
	}
	if !same || needsSync(old, r.pod) {
		f.requestSync(now, r)
	}
	f.requestWrite(now, r)
	if !r.publication.arrived(r.pod, r.mayRun()) {
		f.schedule(r, dueReconcile, r.node.nextCompare(now))
		return
	}
	f.clean(now, r)
}

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
func (f *Fleet) reconfigure(now time.Time, r *podRecord) {
	if isStatic(r.pod) {
		f.beginRound(now, r.node)
	}
}
