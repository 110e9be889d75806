package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
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

// Texts of events that tools match on. Source: pkg/kubelet/kuberuntime,
// pkg/kubelet/images and pkg/kubelet/prober, v1.37.1. What the fake runtime
// does not know is left out or zero there.
const (
	messageSandboxChanged  = "Pod sandbox changed, it will be killed and re-created."
	messageCreated         = "Container created"
	messageStarted         = "Container started"
	messagePostStartFailed = "PostStartHook failed"
	messageProbeFailed     = "%s probe failed: failed by annotation"
	messageStarting        = "Starting kubelet."
)

// recorder records what kubelets tell. It makes no text for nothing, and an
// event of a silent node is lost.
type recorder struct {
	record func(Event) // nil records nothing
}

// tells reports whether events of a node are recorded. A silent node has no way
// to send them.
func (r *recorder) tells(k *kubelet) bool { return r.record != nil && k.hears() }

// tell records an event about a pod, or about one of its containers if a name
// is given. Its callers ask tells before, so that no text is made for nothing.
func (r *recorder) tell(w *podWorker, container, kind, reason, format string, args ...any) {
	object, found := podReference(w.pod, container)
	if !found {
		return
	}
	r.record(Event{
		Node: w.node.name, Object: object, Type: kind, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

// tellRejection records why a pod is not admitted.
func (r *recorder) tellRejection(w *podWorker, rejection Rejection) {
	if r.tells(w.node) {
		r.tell(w, "", corev1.EventTypeWarning, rejection.Reason, "%s", rejection.Message)
	}
}

// tellNoNetwork records that a pod is not synced because it needs a network.
func (r *recorder) tellNoNetwork(w *podWorker) {
	if r.tells(w.node) {
		r.tell(w, "", corev1.EventTypeWarning, toldNetworkNotReady, "network is not ready: %v", errNoNetwork)
	}
}

// tellUnhealthy records that a probe has failed.
func (r *recorder) tellUnhealthy(w *podWorker, container string, kind cri.ProbeKind) {
	if r.tells(w.node) {
		r.tell(w, container, corev1.EventTypeWarning, toldUnhealthy, messageProbeFailed, kind)
	}
}

// tellPlan records what a sync has decided. What its plan does is told by
// notices.
func (r *recorder) tellPlan(w *podWorker, a *Actions, steps []cri.Step, waits []Wait) {
	if !r.tells(w.node) {
		return
	}
	if a.CreateSandbox && len(w.observed.Sandboxes) > 0 {
		r.tell(w, "", corev1.EventTypeNormal, toldSandboxChanged, messageSandboxChanged)
	}
	for i := range steps {
		r.tellStops(w, steps[i].Stops, a)
	}
	for _, wait := range waits {
		if wait.Reason == reasonCrashLoop {
			r.tell(w, wait.Container, corev1.EventTypeWarning, toldBackOff,
				"Back-off restarting failed container %s in pod %s", wait.Container, podID(w.pod))
		}
	}
}

// tellStops records which containers are being stopped, and why if actions say
// so. Nil is none.
func (r *recorder) tellStops(w *podWorker, stops []cri.Stop, a *Actions) {
	if !r.tells(w.node) {
		return
	}
	for _, stop := range stops {
		for i := range w.observed.Containers {
			c := &w.observed.Containers[i]
			if c.ID == stop.ID {
				r.tell(w, c.Name, corev1.EventTypeNormal, toldKilling, "%s", killMessage(w.pod, c, a))
			}
		}
	}
}

// killMessage says why a container is stopped.
func killMessage(pod *corev1.Pod, c *cri.Container, a *Actions) string {
	reason := KillReason("")
	if a != nil && !a.KillPod {
		for _, k := range a.Kills {
			if k.ID == c.ID {
				reason = k.Reason
			}
		}
	}
	kind, restarts := "Container", ""
	if isInit(pod, c.Name) {
		kind = "Init container"
	} else if a != nil && a.starts(c.Name) {
		restarts = ", will be restarted"
	}
	switch reason {
	case KillChanged:
		return fmt.Sprintf("%s %s definition changed%s", kind, c.Name, restarts)
	case KillLiveness:
		return fmt.Sprintf("%s %s failed liveness probe%s", kind, c.Name, restarts)
	case KillStartup:
		return fmt.Sprintf("%s %s failed startup probe%s", kind, c.Name, restarts)
	case KillUnknown:
		return fmt.Sprintf(`%s is in "unknown" state, try killing it before restart`, kind)
	default:
		return "Stopping container " + c.Name
	}
}

// tellEnd records that a pod has been active for too long. Its status has just
// become final.
func (r *recorder) tellEnd(w *podWorker) {
	if s := w.publication.current(w.pod); s.Reason == reasonDeadlineExceeded && r.tells(w.node) {
		r.tell(w, "", corev1.EventTypeNormal, s.Reason, "%s", s.Message)
	}
}

// starts reports whether a container is started.
func (a *Actions) starts(container string) bool {
	for i := range a.Starts {
		if a.Starts[i].Container == container {
			return true
		}
	}
	return false
}

// tellNotice records what a plan of a pod is doing.
func (r *recorder) tellNotice(w *podWorker, notice *cri.Notice) {
	if !r.tells(w.node) {
		return
	}
	normal := func(reason, format string, args ...any) {
		r.tell(w, notice.Container, corev1.EventTypeNormal, reason, format, args...)
	}
	image := containerSpec(w.pod, notice.Container).Image
	switch notice.Kind {
	case cri.NoticePulling:
		normal(toldPulling, "Pulling image %q", image)
	case cri.NoticePulled:
		normal(toldPulled, "Successfully pulled image %q in %v (%v including waiting). Image size: 0 bytes.",
			image, notice.Took, notice.Took)
	case cri.NoticePresent:
		normal(toldPulled, "Container image %q already present on machine and can be accessed by the pod", image)
	case cri.NoticeCreated:
		normal(toldCreated, messageCreated)
	case cri.NoticeStarted:
		normal(toldStarted, messageStarted)
	case cri.NoticeFailed:
		r.tellFailure(w, notice, image)
	}
}

// tellFailure records why a sandbox or a container could not be started. A pod
// that ends needs no sandbox.
func (r *recorder) tellFailure(w *podWorker, notice *cri.Notice, image string) {
	tell := func(kind, reason, format string, args ...any) {
		r.tell(w, notice.Container, kind, reason, format, args...)
	}
	message := notice.Reason
	switch notice.Reason {
	case cri.ReasonCreateSandbox:
		if w.state == workerSyncing {
			tell(corev1.EventTypeWarning, toldSandboxFailed, "Failed to create pod sandbox: %s", notice.Message)
		}
		return
	case cri.ReasonPostStart:
		tell(corev1.EventTypeWarning, toldPostStartFailed, messagePostStartFailed)
		tell(corev1.EventTypeNormal, toldKilling, toldPostStartFailed)
		return
	case cri.ReasonImagePull:
		tell(corev1.EventTypeWarning, toldFailed, "Failed to pull image %q: %s", image, notice.Message)
	case cri.ReasonImagePullBackOff:
		tell(corev1.EventTypeNormal, toldBackOff, "Back-off pulling image %q", image)
	case cri.ReasonImageNeverPull:
		tell(corev1.EventTypeWarning, toldNeverPull, "%s", notice.Message)
	default:
		message = notice.Message
	}
	tell(corev1.EventTypeWarning, toldFailed, "Error: %s", message)
}

// tellNode records an event about a node.
func (r *recorder) tellNode(k *kubelet, kind, reason, message string) {
	r.record(Event{
		Node: k.name, Object: nodeReference(k.object), Type: kind, Reason: reason, Message: message,
	})
}

// tellStatus records that the status of a node is now another one.
func (r *recorder) tellStatus(k *kubelet, reason string) {
	r.tellNode(k, corev1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", k.name, reason))
}

// tellStart records that the kubelet of a node has started, and what of the
// node is new. A silent node does so when it is back.
func (r *recorder) tellStart(k *kubelet) {
	if !k.nodeStatus.starting || k.object == nil || !r.tells(k) {
		return
	}
	k.nodeStatus.starting = false
	r.tellNode(k, corev1.EventTypeNormal, toldStarting, messageStarting)
	if shown := k.object.Status.NodeInfo.BootID; shown != "" && shown != k.nodeStatus.boot() {
		r.tellNode(k, corev1.EventTypeWarning, toldRebooted,
			fmt.Sprintf("Node %s has been rebooted, boot id: %s", k.name, k.nodeStatus.boot()))
	}
	before := &corev1.Node{}
	if !k.nodeStatus.registered {
		before.Status.Conditions = k.object.Status.Conditions
	}
	k.nodeStatus.registered = false
	r.tellChange(k, before)
}

// tellChange records what the API shows of a node that it did not show before.
// So an event comes with its status and never without it.
func (r *recorder) tellChange(k *kubelet, before *corev1.Node) {
	if !r.tells(k) {
		return
	}
	for _, c := range []struct {
		kind            corev1.NodeConditionType
		ifFalse, ifTrue string
	}{
		{corev1.NodeMemoryPressure, toldNoMemoryPressure, toldMemoryPressure},
		{corev1.NodeDiskPressure, toldNoDiskPressure, toldDiskPressure},
		{corev1.NodePIDPressure, toldNoPIDPressure, toldPIDPressure},
		{corev1.NodeReady, toldNodeNotReady, toldNodeReady},
	} {
		was, is := conditionOf(before, c.kind), conditionOf(k.object, c.kind)
		switch {
		case was == is || c.kind == corev1.NodeReady && was == "" && is == corev1.ConditionFalse:
		case is == corev1.ConditionTrue:
			r.tellStatus(k, c.ifTrue)
		case is == corev1.ConditionFalse:
			r.tellStatus(k, c.ifFalse)
		}
	}
	switch is := k.object.Spec.Unschedulable; {
	case is == before.Spec.Unschedulable:
	case is:
		r.tellStatus(k, toldNotSchedulable)
	default:
		r.tellStatus(k, toldNodeSchedulable)
	}
}

// conditionOf returns the status of a condition of a node, or nothing.
func conditionOf(node *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == kind {
			return c.Status
		}
	}
	return ""
}
