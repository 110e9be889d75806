package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kubelife/lifecycle/timedqueue"
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

// NodeStatus returns what a node reports at a time. It reports false of a node
// that is not observed.
func (f *Fleet) NodeStatus(now time.Time, name string) (corev1.NodeStatus, bool) {
	n, known := f.nodes[name]
	if !known || n.node == nil {
		return corev1.NodeStatus{}, false
	}
	return n.nodeStatus(f.queue.Advance(now), f.config.Capacity), true
}

// Register makes a node create its object, with the labels, annotations and
// taints of this one. Its status is the first report, and its faults hold from
// now on. A node that is observed meanwhile is registered. A node without a
// name is an error.
func (f *Fleet) Register(now time.Time, node *corev1.Node) error {
	if node.Name == "" {
		return fmt.Errorf("%w: node to register has no name", ErrInvalidConfig)
	}
	now = f.queue.Advance(now)
	n := f.node(now, node.Name)
	if n.node == nil {
		if n.unregistered == nil {
			f.unregistered++
		}
		n.unregistered = node
		n.faults, _ = ParseFaults(node) // what is wrong is told when it is observed
		f.scheduleNode(n, dueRegister, now.Add(n.faults.APILatency))
	}
	return nil
}

// Unregistered returns how many nodes are to create their objects, and have not
// been observed.
func (f *Fleet) Unregistered() int { return f.unregistered }

// registration returns the task of a node that is not registered.
func (f *Fleet) registration(now time.Time, item dueItem) (Task, bool) {
	n, known := f.nodes[item.Key.node]
	if !known || n.unregistered == nil || n.node != nil {
		return Task{}, false
	}
	object := n.unregistered.DeepCopy()
	machine := &nodeRecord{name: n.name, node: object, faults: n.faults, started: now}
	object.Status = machine.nodeStatus(now, f.config.Capacity)
	return Task{Kind: TaskRegisterNode, Node: n.name, Object: object, item: item}, true
}

// nodeTask returns the task of a node that is due.
func (f *Fleet) nodeTask(now time.Time, item dueItem) (Task, bool) {
	task := Task{Node: item.Key.node, item: item}
	switch n := f.nodes[item.Key.node]; item.Key.kind {
	case dueRegister:
		return f.registration(now, item)
	case dueReport:
		task.Kind = TaskReportNode
		return task, n != nil && n.node != nil
	default:
		task.Kind = TaskListPods
		return task, n != nil && n.node != nil && n.hears()
	}
}

// finishNode takes the result of a task of a node.
func (f *Fleet) finishNode(now time.Time, task Task, result Result) {
	outcome := f.retry(now, f.nodes[task.Node], task.item)
	if result == ResultDone {
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	f.queue.Finish(now, task.item, outcome)
}

// started makes due what a kubelet does when it starts.
func (f *Fleet) started(now time.Time, n *nodeRecord) {
	n.started, n.searching = now, !showsReady(n.node)
	n.compares = f.spread(now, reconcilePeriod)
	if n.node != nil {
		f.scheduleNode(n, dueRelist, f.spread(now, fullRelistPeriod).Add(fullRelistPeriod/2))
	}
	n.starting = true
	if f.config.ListPods && n.node != nil {
		f.scheduleNode(n, dueList, now.Add(n.faults.APILatency))
	}
}
