package kubelet

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
			r := &podRecord{node: n, pod: pod, life: n.life, seen: f.age(now)}
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
		ObjectMeta: metav1.ObjectMeta{UID: uid, DeletionGracePeriodSeconds: new(orphanGrace)},
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
