package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// relistThreshold is for how long a relist of all pods counts, and relistPeriod
// how often there is one. Source: pkg/kubelet, v1.37.1.
const (
	relistThreshold = 3 * time.Minute
	relistPeriod    = time.Second
)

// Errors that a condition Ready shows. Source: pkg/kubelet/runtime.go and
// errors.go, v1.37.1.
var (
	errNotChecked     = errors.New("container runtime status check may not have completed yet")
	errRuntimeDown    = errors.New("container runtime is down")
	errNoRelist       = errors.New("PLEG is not healthy: pleg has yet to be successful")
	errNetworkUnknown = errors.New("network state unknown")
	// errNoNetwork is what containerd says while there is no network plugin.
	errNoNetwork = errors.New("container runtime network not ready: NetworkReady=false " +
		"reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
)

// kubeletVersion is the version whose loop this is, and runtimeVersion that of
// the runtime which runs nothing.
const (
	kubeletVersion = "v1.37.1"
	runtimeVersion = "fake://0.1.0"
)

// defaultCapacity is what a node has of a resource of which nothing is said. A
// kubelet without one of these is not ready. Source: ReadyCondition in
// pkg/kubelet/nodestatus, v1.37.1.
func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

// nodeStatus returns what a node reports. What its object says of capacity and
// addresses holds, because the object is the machine's only description.
func (n *nodeRecord) nodeStatus(now time.Time, capacity corev1.ResourceList) corev1.NodeStatus {
	known := &n.node.Status
	s := corev1.NodeStatus{
		Capacity:    known.Capacity,
		Allocatable: known.Allocatable,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.ip()}, {Type: corev1.NodeHostName, Address: n.name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: identity("machine", n.name), SystemUUID: identity("system", n.name), BootID: n.boot(),
			KernelVersion: "none", OSImage: osImage(n.faults), OperatingSystem: operatingSystem, Architecture: "amd64",
			ContainerRuntimeVersion: runtimeVersion, KubeletVersion: kubeletVersion,
		},
	}
	s.Capacity = completed(s.Capacity, capacity)
	s.Allocatable = completed(s.Allocatable, s.Capacity)
	s.Conditions = append(pressureConditions(n.faults), readyCondition(n.problems(now)))
	return s
}

// completed returns a list with what it lacks from another one. Both are only
// read.
func completed(list, from corev1.ResourceList) corev1.ResourceList {
	if len(list) == 0 {
		return from
	}
	all := list
	for name, size := range from {
		if _, found := list[name]; found {
			continue
		}
		if len(all) == len(list) { // a node that has reported lacks nothing
			all = maps.Clone(list)
		}
		all[name] = size
	}
	return all
}

// osImage names the faults of a node, which kubectl get nodes -o wide shows.
func osImage(faults Faults) string {
	if faults == (Faults{Boot: faults.Boot, Start: faults.Start}) {
		return "hollownode"
	}
	return "hollownode with " + faults.String()
}

// problems returns what keeps a node from being ready, in the kubelet's order:
// the check of the runtime, the relist, the network.
func (n *nodeRecord) problems(now time.Time) []error {
	var problems []error
	checked := n.loop == loopRunning || !n.lastGood.IsZero()
	switch {
	case !checked:
		problems = append(problems, errNotChecked)
	case n.loop != loopRunning && now.Sub(n.lastGood) >= checkThreshold:
		problems = append(problems, errRuntimeDown)
	}
	if n.faults.RuntimeDown {
		switch silence := now.Sub(n.lastRelist); {
		case n.lastRelist.IsZero():
			problems = append(problems, errNoRelist)
		case silence > relistThreshold:
			problems = append(problems, fmt.Errorf(
				"PLEG is not healthy: pleg was last seen active %v ago; threshold is %v", silence, relistThreshold))
		}
	}
	switch {
	case !checked:
		problems = append(problems, errNetworkUnknown)
	case n.networkDown:
		problems = append(problems, errNoNetwork)
	}
	return problems
}

// boot returns the ID of the present boot.
func (n *nodeRecord) boot() string {
	if n.bootID != "" {
		return n.bootID
	}
	return identity("boot", n.name, n.faults.Boot)
}
