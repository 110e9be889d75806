package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is what a kubelet tells about a pod or its node. Its recorder gives it
// a time and sends it as an Event of the API.
type Event struct {
	// Node is the name of the node that tells it, the host of its source.
	Node string
	// Object is a pod, a container of a pod, or the node.
	Object corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type            string
	Reason, Message string
}

// EventComponent is the component of the source of each [Event].
const EventComponent = "kubelet"

// Reasons of events. Those of rejected pods are the reasons of their status.
// Source: pkg/kubelet/events/event.go and nodestatus/setters.go, v1.37.1.
const (
	toldPulling          = "Pulling"
	toldPulled           = "Pulled"
	toldCreated          = "Created"
	toldStarted          = "Started"
	toldFailed           = "Failed"
	toldBackOff          = "BackOff"
	toldNeverPull        = "ErrImageNeverPull"
	toldKilling          = "Killing"
	toldUnhealthy        = "Unhealthy"
	toldPostStartFailed  = "FailedPostStartHook"
	toldSandboxChanged   = "SandboxChanged"
	toldSandboxFailed    = "FailedCreatePodSandBox"
	toldNetworkNotReady  = "NetworkNotReady"
	toldStarting         = "Starting"
	toldRebooted         = "Rebooted"
	toldNodeReady        = "NodeReady"
	toldNodeNotReady     = "NodeNotReady"
	toldNodeSchedulable  = "NodeSchedulable"
	toldNotSchedulable   = "NodeNotSchedulable"
	toldMemoryPressure   = "NodeHasInsufficientMemory"
	toldNoMemoryPressure = "NodeHasSufficientMemory"
	toldDiskPressure     = "NodeHasDiskPressure"
	toldNoDiskPressure   = "NodeHasNoDiskPressure"
	toldPIDPressure      = "NodeHasInsufficientPID"
	toldNoPIDPressure    = "NodeHasSufficientPID"
)

const toldInvalidAnnotation = "InvalidAnnotation"

// podReference returns a reference to a pod, or to one of its containers if a
// name is given. There are no events about a container that the pod does not
// have, nor about a pod of which only the UID is known. It reports false then.
func podReference(pod *corev1.Pod, container string) (corev1.ObjectReference, bool) {
	ref := corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion,
	}
	if pod.Name == "" {
		return ref, false
	}
	if container == "" {
		return ref, true
	}
	field := "containers"
	if isInit(pod, container) {
		field = "initContainers"
	} else if !hasContainer(pod.Spec.Containers, container) {
		return ref, false
	}
	ref.FieldPath = "spec." + field + "{" + container + "}"
	return ref, true
}

// nodeReference returns a reference to a node.
func nodeReference(node *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
}

// InvalidAnnotation returns the event about what is wrong with the annotations
// of a node or a pod. No kubelet has it, and the node itself may be silent. It
// reports false of other objects.
func InvalidAnnotation(object metav1.Object, err error) (Event, bool) {
	e := Event{Type: corev1.EventTypeWarning, Reason: toldInvalidAnnotation, Message: err.Error()}
	switch object := object.(type) {
	case *corev1.Node:
		e.Node, e.Object = object.Name, nodeReference(object)
	case *corev1.Pod:
		e.Node = object.Spec.NodeName
		e.Object, _ = podReference(object, "")
	default:
		return e, false
	}
	return e, true
}

// isInit reports whether a container is an init container of a pod.
func isInit(pod *corev1.Pod, container string) bool {
	return hasContainer(pod.Spec.InitContainers, container)
}

func hasContainer(list []corev1.Container, name string) bool {
	return slices.ContainsFunc(list, func(c corev1.Container) bool { return c.Name == name })
}
