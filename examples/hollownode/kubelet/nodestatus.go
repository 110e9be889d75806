package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
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

// nodeStatus is what a node reports, and what is still to be told of it. Its
// lease is renewed by heartbeat.Sender, whatever the runtime does.
type nodeStatus struct {
	node *kubelet
	// bootID is that of the present boot; empty is that of its name and faults.
	bootID string
	// searching tells that its node has not been Ready since its start, and was
	// not before.
	searching bool
	// starting tells that its start is still to be told in an event, and
	// registered that its object is new.
	starting, registered bool
	// unregistered is the object to create, or nil.
	unregistered *corev1.Node
}

// report returns what a node reports. What its object says of capacity and
// addresses holds, because the object is the machine's only description.
func (s *nodeStatus) report(now time.Time, capacity corev1.ResourceList) corev1.NodeStatus {
	k := s.node
	known := &k.object.Status
	status := corev1.NodeStatus{
		Capacity: completed(known.Capacity, capacity),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: s.ip()}, {Type: corev1.NodeHostName, Address: k.name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: identity("machine", k.name), SystemUUID: identity("system", k.name), BootID: s.boot(),
			KernelVersion: "none", OSImage: osImage(k.faults), OperatingSystem: operatingSystem, Architecture: "amd64",
			ContainerRuntimeVersion: runtimeVersion, KubeletVersion: kubeletVersion,
		},
	}
	status.Allocatable = completed(known.Allocatable, status.Capacity)
	status.Conditions = append(pressureConditions(k.faults), readyCondition(k.runtime.problems(now)))
	return status
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

// boot returns the ID of the present boot.
func (s *nodeStatus) boot() string {
	if s.bootID != "" {
		return s.bootID
	}
	return identity("boot", s.node.name, s.node.faults.Boot)
}

// readyCondition is Ready. It names all problems.
func readyCondition(problems []error) corev1.NodeCondition {
	if err := utilerrors.NewAggregate(problems); err != nil {
		return nodeCondition(corev1.NodeReady, false, "KubeletNotReady", err.Error())
	}
	return nodeCondition(corev1.NodeReady, true, "KubeletReady", "kubelet is posting ready status")
}

// pressureConditions are those of memory, disk and process IDs. Source:
// pkg/kubelet/nodestatus/setters.go, v1.37.1.
func pressureConditions(faults Faults) []corev1.NodeCondition {
	choose := func(kind corev1.NodeConditionType, pressed bool, bad, badMessage, good, goodMessage string,
	) corev1.NodeCondition {
		if pressed {
			return nodeCondition(kind, true, bad, "kubelet has "+badMessage)
		}
		return nodeCondition(kind, false, good, "kubelet has "+goodMessage)
	}
	return []corev1.NodeCondition{
		choose(corev1.NodeMemoryPressure, faults.MemoryPressure,
			"KubeletHasInsufficientMemory", "insufficient memory available",
			"KubeletHasSufficientMemory", "sufficient memory available"),
		choose(corev1.NodeDiskPressure, faults.DiskPressure,
			"KubeletHasDiskPressure", "disk pressure", "KubeletHasNoDiskPressure", "no disk pressure"),
		choose(corev1.NodePIDPressure, faults.PIDPressure,
			"KubeletHasInsufficientPID", "insufficient PID available",
			"KubeletHasSufficientPID", "sufficient PID available"),
	}
}

func nodeCondition(kind corev1.NodeConditionType, holds bool, reason, message string) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// ip returns the internal IP of a node: that of its object or else its own.
func (s *nodeStatus) ip() string {
	if s.node.object != nil {
		for _, a := range s.node.object.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	h := hashOf("ip", s.node.name)
	// 100.64.0.0/10 is for what no other network knows (RFC 6598).
	return fmt.Sprintf("100.%d.%d.%d", 64|h>>16&63, h>>8&255, h&255)
}

// foundReady reports at once that a node is Ready for the first time. Later its
// sender does.
func (s *nodeStatus) foundReady(now time.Time) {
	if s.node.runtime.networkDown || !s.searching {
		return
	}
	s.searching = false
	if now.Sub(s.node.started) < firstReports {
		s.node.schedule(dueReport, now)
	}
}

// task returns the call of a node that is due, if it is needed.
func (s *nodeStatus) task(now time.Time, item dueItem) (Task, bool) {
	task := Task{Node: s.node.name, item: item}
	switch item.Key.kind {
	case dueRegister:
		task.Kind = TaskRegisterNode
		if s.unregistered == nil || s.node.object != nil {
			return Task{}, false
		}
		task.Object = s.registration(now)
		return task, true
	case dueReport:
		task.Kind = TaskReportNode
		return task, s.node.object != nil
	default:
		task.Kind = TaskListPods
		return task, s.node.object != nil && s.node.hears()
	}
}

// registration returns the object of a node that is not registered, with its
// first report.
func (s *nodeStatus) registration(now time.Time) *corev1.Node {
	machine := newKubelet(s.node.fleet, now, s.node.name)
	machine.object, machine.faults = s.unregistered.DeepCopy(), s.node.faults
	machine.object.Status = machine.nodeStatus.report(now, s.node.fleet.config.Capacity)
	return machine.object
}
