package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// mostStatic is how many names static pods have.
const mostStatic = 2

func staticName(step Step) string { return fmt.Sprint("static-", step.Pod%mostStatic) }

// mirrorName returns the name of a static pod with that of its node.
func mirrorName(step Step) string { return staticName(step) + "-" + nodeName(step.Node) }

// staticPodOf returns the manifest of a number. It is a pod that has no hook
// and no deadline, and that needs no CPU and no port.
func staticPodOf(number int, name string) *corev1.Pod {
	pod := podOf(number, name, "")
	pod.Annotations[invariant.ManifestAnnotation] = strconv.Itoa(number)
	pod.Spec.ActiveDeadlineSeconds, pod.Spec.ReadinessGates = nil, nil
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Lifecycle, c.Ports, c.Resources = nil, nil, corev1.ResourceRequirements{}
	}
	return pod
}

// setStatic changes the manifests. A process that starts later reads them then.
func (w *World) setStatic(step Step) {
	name := staticName(step)
	isFormer := func(pod *corev1.Pod) bool { return pod.Name == name }
	pods := slices.DeleteFunc(slices.Clone(w.config.Fleet.StaticPods), isFormer)
	if step.N > 0 {
		pods = append(pods, staticPodOf(step.N, name))
	}
	w.config.Fleet.StaticPods = pods
	w.history.Manifests = append(w.history.Manifests, invariant.Manifests{At: w.Now(), Pods: pods})
	if w.process.Stopped() {
		return
	}
	if err := w.process.life.SetStaticPods(w.Now(), pods); err != nil {
		panic(err) // each of these manifests is valid
	}
	w.process.Wake()
}

// onMirror returns an action on a mirror that exists.
func (w *World) onMirror(do func(*corev1.Pod, Step)) func(Step) {
	return func(step Step) {
		if mirror := w.pod(mirrorName(step)); mirror != nil {
			do(mirror, step)
		}
	}
}

func (w *World) crashStatic(mirror *corev1.Pod, step Step) {
	w.runtime.Crash(w.Now(), kubelet.RuntimeUID(mirror), mirror.Spec.Containers[0].Name, int32(step.N%3))
	w.process.Wake()
}

// staticID is what a static pod was made of, and since when it is known.
type staticID struct {
	name, manifest string
	since          time.Time
}

// identify records which static pod this is, if it is one.
func (r *recorder) identify(now time.Time, pod *corev1.Pod) {
	manifest, found := pod.Annotations[invariant.ManifestAnnotation]
	if _, known := r.static[pod.UID]; found && !known {
		r.static[pod.UID] = staticID{pod.Name, manifest, now}
	}
}

// forgetStatic records that a static pod is gone, which may run again with the
// same IDs. If its manifest was away while it was there, it begins again then.
func (r *recorder) forgetStatic(uid types.UID) {
	id, found := r.static[uid]
	if !found {
		return
	}
	r.forget(uid)
	delete(r.static, uid)
	if r.wasAway(id) {
		r.losses[uid]++
	}
}

// wasAway reports whether a manifest was not among those in force at some time
// since a static pod of it is known. A process that restores the pod may have
// been started after its manifest went.
func (r *recorder) wasAway(id staticID) bool {
	all := r.history.Manifests
	for i := range all {
		over := i+1 < len(all) && !all[i+1].At.After(id.since)
		if !over && !slices.ContainsFunc(all[i].Pods, func(pod *corev1.Pod) bool {
			return pod.Annotations[invariant.ManifestAnnotation] == id.manifest
		}) {
			return true
		}
	}
	return false
}
