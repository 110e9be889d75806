package invariant

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

var begin = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// story is a history that a test writes: a node that works for an hour, and
// what the test adds.
type story struct {
	History

	version uint64
}

func newStory() *story {
	s := &story{History: History{End: begin.Add(time.Hour), Starts: []Start{{Node: "node", At: begin}}}}
	s.store(network.Nodes, 0, nil, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node"},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("2"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}, nil)
	return s
}

// at returns a time of the story.
func at(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }

// store adds a change.
func (s *story) store(kind network.Kind, second int, before, after metav1.Object, by *Call) {
	s.version++
	s.Changes = append(s.Changes, &Change{
		Kind: kind, Version: s.version, At: at(second), Before: before, After: after, By: by,
	})
}

// other has another client write a pod.
func (s *story) other(second int, before, after *corev1.Pod) {
	s.store(network.Pods, second, object(before), object(after), nil)
}

// own has the kubelet of the node write a pod.
func (s *story) own(second int, before, after *corev1.Pod) *Call {
	uid := types.UID("")
	if before != nil {
		uid = before.UID
	}
	call := &Call{Node: "node", Pod: uid, Decided: at(second), Seen: s.version}
	s.Calls = append(s.Calls, call)
	s.store(network.Pods, second, object(before), object(after), call)
	return call
}

// object returns nil for no pod. An interface that holds a nil is not nil.
func object(pod *corev1.Pod) metav1.Object {
	if pod == nil {
		return nil
	}
	return pod
}

// run adds a run of a container, which goes on to the end of the story if it is
// given no end.
func (s *story) run(pod *corev1.Pod, container string, attempt int32, from, to int) *Run {
	uid, manifest := pod.UID, manifestOf(pod)
	r := &Run{
		Pod: uid, Node: "node", Name: container, ID: fmt.Sprintf("%s/%s/%d", uid, container, attempt), Image: "image",
		Sandbox: "sandbox", Attempt: attempt, Runtime: 1, Planned: at(from), Started: at(from), Ended: at(to),
	}
	if manifest != "" {
		r.PodName, r.Manifest = pod.Name+"-node", manifest
	}
	if to == 0 {
		r.Ended, r.Lost = s.End, true
	}
	s.Runs = append(s.Runs, r)
	return r
}

// newPod returns a pod of the node that is not shown yet.
func newPod(name string, policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeName: "node", RestartPolicy: policy, TerminationGracePeriodSeconds: ptr.To(int64(30)),
			Containers: []corev1.Container{{Name: "main", Image: "image"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// shown returns a copy of a pod with another phase and a status of its
// container main.
func shown(pod *corev1.Pod, phase corev1.PodPhase, restarts int32, state corev1.ContainerState) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Status.Phase = phase
	ready := corev1.ConditionFalse
	if state.Running != nil {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	uid := pod.UID
	if isMirror(pod) {
		uid = shows(pod)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", RestartCount: restarts, State: state, Ready: state.Running != nil,
		ContainerID: fmt.Sprintf("%s/main/%d", uid, restarts),
	}}
	return pod
}

func isRunning() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func hasExited(id string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: id}}
}

// running adds a pod that runs from the first second, and is shown so.
func (s *story) running(name string, policy corev1.RestartPolicy) *corev1.Pod {
	pod := newPod(name, policy)
	s.other(0, nil, pod)
	s.run(pod, "main", 0, 1, 0)
	after := shown(pod, corev1.PodRunning, 0, isRunning())
	s.own(2, pod, after)
	return after
}

// leaving returns a copy of a pod that is being deleted.
func leaving(pod *corev1.Pod, second int, grace int64) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: at(second).Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	return pod
}

// static adds a static pod that runs, and its mirror. It returns the manifest
// and the mirror.
func (s *story) static(name, manifest string) (pod, mirror *corev1.Pod) {
	pod = newPod(name, corev1.RestartPolicyAlways)
	pod.Annotations[ManifestAnnotation] = manifest
	pod.UID, pod.Spec.NodeName = types.UID("static-"+manifest), ""
	s.Manifests = append(s.Manifests, Manifests{At: at(0), Pods: []*corev1.Pod{pod}})
	s.run(pod, "main", 0, 1, 0)
	mirror = newPod(name+"-node", corev1.RestartPolicyAlways)
	mirror.UID = types.UID("mirror-" + manifest)
	mirror.Annotations = map[string]string{ManifestAnnotation: manifest, "kubernetes.io/config.mirror": string(pod.UID)}
	mirror.OwnerReferences = []metav1.OwnerReference{{UID: "node"}}
	s.own(1, nil, mirror)
	after := shown(mirror, corev1.PodRunning, 0, isRunning())
	s.own(2, mirror, after)
	return pod, after
}
