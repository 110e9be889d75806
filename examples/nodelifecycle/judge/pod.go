package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// pod is one pod, as the API server has and had it.
type pod struct {
	name      string
	namespace string
	uid       types.UID
	object    *corev1.Pod // nil when it is gone
	on        *node
	bound     time.Duration
	// arrived is since when it is on its node.
	arrived  begun
	versions []podVersion
	// readySince is when it became Ready last.
	readySince time.Duration
	// refused is when a PodDisruptionBudget has refused its eviction last.
	refused time.Duration
	// tried is when a call about it was sent last, attempt the last one to make it
	// leave.
	tried   time.Duration
	attempt attempt
}

// podVersion is a pod from one change of its tolerations to the next.
type podVersion struct {
	version     uint64
	at          time.Duration
	tolerations []corev1.Toleration
}

// since returns the versions from the one that was there at a resourceVersion
// on.
func (p *pod) since(of uint64) []podVersion {
	i := len(p.versions) - 1
	for i > 0 && p.versions[i].version > of {
		i--
	}
	return p.versions[i:]
}

func (p *pod) latest() *podVersion { return &p.versions[len(p.versions)-1] }

// leaves reports whether the pod is terminating or gone.
func (p *pod) leaves() bool { return p.object == nil || p.object.DeletionTimestamp != nil }

// storePod records a pod's new version.
func (j *Judge) storePod(w model.PodWrite) {
	now := j.world.Elapsed()
	j.changed = now
	if w.After == nil {
		j.newest++
		p := j.pods[w.Before.Name]
		p.object = nil
		if p.on != nil {
			p.on.pods = slices.DeleteFunc(p.on.pods, func(other *pod) bool { return other == p })
		}
		delete(j.pods, p.name)
		return
	}
	j.newest = version(w.After.ResourceVersion)
	p := j.pods[w.After.Name]
	if p == nil {
		p = &pod{name: w.After.Name, uid: w.After.UID, namespace: w.After.Namespace, refused: -never, tried: -never}
		j.pods[p.name] = p
	}
	before := p.object
	p.object = w.After
	if before == nil || !sameTolerations(before.Spec.Tolerations, w.After.Spec.Tolerations) {
		p.versions = append(p.versions, podVersion{j.newest, now, w.After.Spec.Tolerations})
	}
	if model.PodReady(w.After) && (before == nil || !model.PodReady(before)) {
		p.readySince = now
	}
	if p.on == nil && w.After.Spec.NodeName != "" {
		j.bind(now, p)
	}
	if p.on != nil {
		p.on.visit = 0
	}
}

func (j *Judge) bind(now time.Duration, p *pod) {
	p.on, p.bound, p.arrived = j.node(p.object.Spec.NodeName), now, begun{stored: now}
	p.on.pods = append(p.on.pods, p)
	if c := podCondition(p.object, corev1.PodScheduled); c != nil {
		p.arrived.dated, p.arrived.written = true, j.sinceStart(c.LastTransitionTime.Time)
	}
}

func sameTolerations(a, b []corev1.Toleration) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// isDaemon reports whether a DaemonSet owns a pod.
func isDaemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && o.Kind == "DaemonSet"
	})
}
