package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
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
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true),
	}}
	return &mirror
}

// staticPods are the static pods of a fleet. The version counts their changes.
type staticPods struct {
	manifests []manifest
	version   uint64
}

// set replaces the pods, and reports whether that is a change.
func (s *staticPods) set(pods []*corev1.Pod) (changed bool, err error) {
	manifests, err := newManifests(pods)
	if err != nil || slices.EqualFunc(manifests, s.manifests, func(a, b manifest) bool { return a.text == b.text }) {
		return false, err
	}
	s.manifests = manifests
	s.version++
	return true, nil
}

// of returns the static pods that a node is to run, or nil.
func (s *staticPods) of(node string) map[types.NamespacedName]*corev1.Pod {
	if len(s.manifests) == 0 {
		return nil
	}
	pods := make(map[types.NamespacedName]*corev1.Pod, len(s.manifests))
	for _, m := range s.manifests {
		pod := newStaticPod(m.pod, m.text, node)
		pods[nameOf(pod)] = pod
	}
	return pods
}

// manifest is a static pod as each node of a fleet runs it. Text is it as JSON.
type manifest struct {
	pod  *corev1.Pod
	text string
}

// newManifests returns the manifests of static pods with their defaults. The
// error joins all that is wrong with them.
func newManifests(pods []*corev1.Pod) ([]manifest, error) {
	var problems []error
	var list []manifest
	names := map[types.NamespacedName]bool{}
	for i, pod := range pods {
		if err := ValidateStaticPod(pod); err != nil {
			problems = append(problems, fmt.Errorf("static pod %d: %w", i, err))
			continue
		}
		pod = withDefaults(pod)
		name := nameOf(pod)
		if names[name] {
			problems = append(problems, fmt.Errorf("static pod %d: %s is there twice", i, name))
		}
		names[name] = true
		text, err := json.Marshal(pod)
		if err != nil {
			problems = append(problems, fmt.Errorf("static pod %d: encode: %w", i, err))
		}
		list = append(list, manifest{pod, string(text)})
	}
	return list, errors.Join(problems...)
}

// ValidateStaticPods joins all that is wrong with the static pods of a fleet:
// with each of them, and two of a name.
func ValidateStaticPods(pods []*corev1.Pod) error {
	_, err := newManifests(pods)
	return err
}

// ValidateStaticPod joins all that is wrong with a static pod. Its status does
// not count. It checks names and containers. The API server checks the rest
// when the mirror pod is created.
func ValidateStaticPod(pod *corev1.Pod) error {
	if pod == nil {
		return errors.New("it is nil, want a pod")
	}
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if messages := validation.IsDNS1123Subdomain(pod.Name); len(messages) > 0 {
		wrong("metadata.name is %q, want the name of a pod", pod.Name)
	}
	if messages := validation.IsDNS1123Label(pod.Namespace); pod.Namespace != "" && len(messages) > 0 {
		wrong("metadata.namespace is %q, want the name of a namespace", pod.Namespace)
	}
	if pod.UID != "" {
		wrong("metadata.uid is %q, want none, because each node has its own", pod.UID)
	}
	if isMirror(pod) {
		wrong("metadata.annotations has %s, want a static pod and not its mirror", corev1.MirrorPodAnnotationKey)
	}
	if len(pod.Spec.Containers) == 0 {
		wrong("spec.containers is empty, want at least one")
	}
	names := map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		switch {
		case len(validation.IsDNS1123Label(c.Name)) > 0:
			wrong("the name of a container is %q, want lower case letters, digits and -", c.Name)
		case names[c.Name]:
			wrong("two containers have the name %q", c.Name)
		case c.Image == "":
			wrong("container %q has no image", c.Name)
		}
		names[c.Name] = true
	}
	return errors.Join(problems...)
}

// withDefaults returns a copy of a manifest with the defaults of the API that a
// loop reads. Tolerations are those of a file. Sources, v1.37.1:
// pkg/apis/core/v1/defaults.go, and applyDefaults of pkg/kubelet/config.
func withDefaults(manifest *corev1.Pod) *corev1.Pod {
	pod := manifest.DeepCopy()
	pod.Status = corev1.PodStatus{}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	spec := &pod.Spec
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			defaultContainer(&list[i], spec.HostNetwork)
		}
	}
	// It stays whatever the node is tainted with.
	tolerated := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	spec.Tolerations = slices.DeleteFunc(spec.Tolerations, func(t corev1.Toleration) bool {
		return t.MatchToleration(&tolerated)
	})
	spec.Tolerations = append(spec.Tolerations, tolerated)
	return pod
}

// defaultContainer sets the defaults of a container. Of its probes an absent
// number has the same effect as the default.
func defaultContainer(c *corev1.Container, hostNetwork bool) {
	for name, limit := range c.Resources.Limits {
		if _, requested := c.Resources.Requests[name]; requested {
			continue
		}
		if c.Resources.Requests == nil {
			c.Resources.Requests = corev1.ResourceList{}
		}
		c.Resources.Requests[name] = limit.DeepCopy()
	}
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
		if tag := imageTag(c.Image); tag == "" || tag == "latest" {
			c.ImagePullPolicy = corev1.PullAlways
		}
	}
	for i := range c.Ports {
		if port := &c.Ports[i]; hostNetwork && port.HostPort == 0 {
			port.HostPort = port.ContainerPort
		}
	}
}

// imageTag returns the tag of an image, or its digest. It is empty if there is
// neither.
func imageTag(image string) string {
	name := image[strings.LastIndex(image, "/")+1:]
	if _, digest, found := strings.Cut(name, "@"); found {
		return digest
	}
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
