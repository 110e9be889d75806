package kubelet

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations of pods. Source: pkg/kubelet/types/pod_update.go, v1.37.1.
const (
	// annotationSource is where a node has a pod from: sourceAPI or sourceFile.
	annotationSource = "kubernetes.io/config.source"
	// annotationHash is the UID of a static pod. A mirror repeats it.
	annotationHash = "kubernetes.io/config.hash"

	sourceAPI  = "api"
	sourceFile = "file"
)

// isStatic reports whether a pod comes from this node and not from the API.
func isStatic(pod *corev1.Pod) bool {
	source, found := pod.Annotations[annotationSource]
	return found && source != sourceAPI
}

// isMirror reports whether a pod shows a static pod in the API.
func isMirror(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

// fromAPI returns a pod of the API. One that claims another source is copied
// without the claim, or its author could exempt it from taints.
func fromAPI(pod *corev1.Pod) *corev1.Pod {
	if !isStatic(pod) {
		return pod
	}
	copied := *pod
	copied.Annotations = maps.Clone(pod.Annotations)
	copied.Annotations[annotationSource] = sourceAPI
	return &copied
}

// RuntimeUID returns the UID under which a runtime knows a pod of the API. For
// a mirror pod it is that of its static pod.
func RuntimeUID(pod *corev1.Pod) types.UID {
	if hash := pod.Annotations[corev1.MirrorPodAnnotationKey]; hash != "" {
		return types.UID(hash)
	}
	return pod.UID
}

// nameOf returns the name that a static pod and its mirror have in common.
func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// newStaticPod returns the static pod that a node makes of a manifest. Text is
// the manifest as JSON, from which its UID follows. Source: applyDefaults of
// pkg/kubelet/config/common.go, v1.37.1. The formula of the UID is ours.
func newStaticPod(manifest *corev1.Pod, text, node string) *corev1.Pod {
	pod := *manifest
	pod.UID = types.UID(identity("static", node, text))
	pod.Name += "-" + strings.ToLower(node)
	pod.Annotations = maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[annotationSource], pod.Annotations[annotationHash] = sourceFile, string(pod.UID)
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return &pod
}

// newMirror returns the pod that shows a static pod in the API. Its owner is
// the node. Source: pkg/kubelet/pod/mirror_client.go, v1.37.1.
func newMirror(static *corev1.Pod, node *corev1.Node) *corev1.Pod {
	mirror := *static
	mirror.UID, mirror.Status = "", corev1.PodStatus{}
	mirror.Annotations = maps.Clone(static.Annotations)
	mirror.Annotations[corev1.MirrorPodAnnotationKey] = static.Annotations[annotationHash]
	mirror.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true),
	}}
	return &mirror
}
