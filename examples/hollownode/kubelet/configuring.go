package kubelet

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
	for _, name := range slices.SortedFunc(maps.Keys(n.mirrors), compareNames) {
		f.adoptFormer(now, n, n.mirrors[name].pod)
	}
	for _, name := range slices.SortedFunc(maps.Keys(n.static), compareNames) {
		pod := n.static[name]
		if _, known := f.pods[pod.UID]; !known { // one that is ending comes back when it is forgotten
			r := &podRecord{node: n, pod: pod, life: n.life}
			f.pods[pod.UID] = r
			n.insert(r)
		}
		f.requestMirror(now, n, name)
	}
	for name := range n.mirrors {
		f.requestMirror(now, n, name)
	}
}

// adoptFormer ends the static pod that a mirror shows, if only the runtime has
// it: its manifest has gone while the process was down. The next one of its
// name waits for its end.
func (f *Fleet) adoptFormer(now time.Time, n *nodeRecord, mirror *corev1.Pod) {
	former := *mirror
	former.UID, former.DeletionTimestamp = RuntimeUID(mirror), nil
	if !isStatic(mirror) || f.pods[former.UID] != nil || n.wants(&former) {
		return
	}
	if _, found := f.config.Runtime.Pod(now, former.UID); found {
		r := &podRecord{node: n, pod: &former, api: apiGone, life: n.life}
		f.pods[former.UID] = r
		n.insert(r)
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
