package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubelife/lifecycle/taints"
)

// Rejection is why a node does not take a pod. The zero value is none.
type Rejection struct {
	Reason, Message string
}

// Reasons of a rejection. A resource that is short is OutOf and its name, for
// example OutOfcpu. Source: pkg/kubelet/lifecycle/predicate.go, v1.37.1.
const (
	reasonOutOf           = "OutOf"
	reasonNodeAffinity    = "NodeAffinity"
	reasonNodePorts       = "NodePorts"
	reasonTaintToleration = "TaintToleration"
	// reasonEvicted is that of a node under pressure. Source:
	// pkg/kubelet/eviction, v1.37.1.
	reasonEvicted = "Evicted"
)

// operatingSystem is that of all nodes.
const operatingSystem = "linux"

// criticalPriority is the least priority of a pod that a node takes whatever
// the pressure. Source: scheduling.SystemCriticalPriority, v1.37.1.
const criticalPriority = 2_000_000_000

// admit returns why a node does not take a pod, next to what its pods use, or
// the zero value. Of several reasons it is the first in the kubelet's order. A
// node without any allocatable resources enforces none.
func admit(node *corev1.Node, pod *corev1.Pod, used *usage) Rejection {
	if r := admitResources(node, pod, used); r.Reason != "" {
		return r
	}
	if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !match {
		return predicate(reasonNodeAffinity, "node(s) didn't match Pod's node affinity/selector")
	}
	if used.portTaken(pod) {
		return predicate(reasonNodePorts, "node(s) didn't have free ports for the requested pod ports")
	}
	untolerated := taints.Matcher{}.Untolerated(node.Spec.Taints, pod.Spec.Tolerations, corev1.TaintEffectNoExecute)
	if untolerated != nil && !isStatic(pod) {
		return predicate(reasonTaintToleration, "node(s) had taints that the pod didn't tolerate")
	}
	return Rejection{}
}

// admitUnderPressure returns whether a node under pressure takes a pod. Memory
// alone keeps away only pods that request nothing, which the quality of service
// tells that the API server has given them. One that has none requests nothing.
func admitUnderPressure(faults Faults, pod *corev1.Pod) Rejection {
	var conditions []corev1.NodeConditionType
	for _, c := range pressureConditions(faults) {
		if c.Status == corev1.ConditionTrue {
			conditions = append(conditions, c.Type)
		}
	}
	slices.Sort(conditions)
	if len(conditions) == 0 || isCritical(pod) {
		return Rejection{}
	}
	if len(conditions) == 1 && faults.MemoryPressure {
		taint := corev1.Taint{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule}
		untolerated := taints.Matcher{}.Untolerated([]corev1.Taint{taint}, pod.Spec.Tolerations, taint.Effect)
		requests := pod.Status.QOSClass == corev1.PodQOSBurstable || pod.Status.QOSClass == corev1.PodQOSGuaranteed
		if requests || untolerated == nil {
			return Rejection{}
		}
	}
	return Rejection{Reason: reasonEvicted, Message: fmt.Sprintf("The node had condition: %v. ", conditions)}
}

// isCritical reports whether the node or the cluster cannot do without a pod.
func isCritical(pod *corev1.Pod) bool {
	return isStatic(pod) || isMirror(pod) || pod.Spec.Priority != nil && *pod.Spec.Priority >= criticalPriority
}

func predicate(reason, message string) Rejection {
	return Rejection{Reason: reason, Message: fmt.Sprintf("Predicate %s failed: %s", reason, message)}
}

// admitResources returns which resource is short, if any.
func admitResources(node *corev1.Node, pod *corev1.Pod, used *usage) Rejection {
	allocatable := node.Status.Allocatable
	if allocatable == nil {
		return Rejection{}
	}
	if capacity := allocatable.Pods().Value(); used.pods+1 > capacity {
		return short(corev1.ResourcePods, 1, used.pods, capacity)
	}
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	for _, name := range resourceOrder(requests) {
		quantity, capacity, taken := requests[name], allocatable[name], used.requests[name]
		_, known := allocatable[name]
		if quantity.IsZero() || !known && !isNative(name) {
			continue
		}
		free := capacity.DeepCopy()
		free.Sub(taken)
		if quantity.Cmp(free) <= 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			return short(name, quantity.MilliValue(), taken.MilliValue(), capacity.MilliValue())
		}
		return short(name, quantity.Value(), taken.Value(), capacity.Value())
	}
	return Rejection{}
}

// resourceOrder returns the resources in the order in which they are examined.
func resourceOrder(requests corev1.ResourceList) []corev1.ResourceName {
	order := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	native := len(order)
	for name := range requests {
		if !isNative(name) {
			order = append(order, name)
		}
	}
	slices.Sort(order[native:])
	return order
}

// isNative reports whether a resource is missing on a node that does not name
// it. Others may belong to the cluster.
func isNative(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	default:
		return false
	}
}

func short(name corev1.ResourceName, requested, used, capacity int64) Rejection {
	return Rejection{Reason: reasonOutOf + string(name), Message: fmt.Sprintf(
		"Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, used, capacity)}
}

// rejected returns the status of a pod that is not admitted. One that was taken
// before a restart keeps what is known of its containers.
func rejected(now time.Time, pod *corev1.Pod, r Rejection) corev1.PodStatus {
	s := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              corev1.PodFailed, Reason: r.Reason, Message: "Pod was rejected: " + r.Message,
		InitContainerStatuses: pod.Status.InitContainerStatuses, ContainerStatuses: pod.Status.ContainerStatuses,
	}
	finishStatus(now, &pod.Status, &s)
	return s
}

// usage is what the pods of a node take of it. The zero value is nothing.
type usage struct {
	pods     int64
	requests corev1.ResourceList
	ports    map[hostPort]int
}

// add adds what a pod takes.
func (u *usage) add(pod *corev1.Pod) {
	if u.requests == nil {
		u.requests, u.ports = corev1.ResourceList{}, map[hostPort]int{}
	}
	u.pods++
	for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		sum := u.requests[name]
		sum.Add(quantity)
		u.requests[name] = sum
	}
	for _, port := range hostPorts(pod) {
		u.ports[port]++
	}
}

// remove takes back what add has added for the same object.
func (u *usage) remove(pod *corev1.Pod) {
	u.pods--
	for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		sum := u.requests[name]
		sum.Sub(quantity)
		if u.requests[name] = sum; sum.IsZero() {
			delete(u.requests, name)
		}
	}
	for _, port := range hostPorts(pod) {
		if u.ports[port]--; u.ports[port] == 0 {
			delete(u.ports, port)
		}
	}
}

// portTaken reports whether any of a pod's host ports is in use.
func (u *usage) portTaken(pod *corev1.Pod) bool {
	for _, port := range hostPorts(pod) {
		for taken := range u.ports {
			if port.number == taken.number && port.protocol == taken.protocol &&
				(port.ip == taken.ip || port.ip == anyIP || taken.ip == anyIP) {
				return true
			}
		}
	}
	return false
}

const anyIP = "0.0.0.0"

type hostPort struct {
	number   int32
	protocol corev1.Protocol
	ip       string
}

// hostPorts returns the ports of the node that a pod takes for as long as it
// runs. Those of init containers count if they are sidecars.
func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			ports = appendHostPorts(ports, c)
		}
	}
	for i := range pod.Spec.Containers {
		ports = appendHostPorts(ports, &pod.Spec.Containers[i])
	}
	return ports
}

func appendHostPorts(ports []hostPort, c *corev1.Container) []hostPort {
	for _, p := range c.Ports {
		if p.HostPort <= 0 {
			continue
		}
		port := hostPort{p.HostPort, p.Protocol, p.HostIP}
		if port.protocol == "" {
			port.protocol = corev1.ProtocolTCP
		}
		if port.ip == "" {
			port.ip = anyIP
		}
		ports = append(ports, port)
	}
	return ports
}
