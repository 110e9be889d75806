package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

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
