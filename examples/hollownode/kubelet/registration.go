package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

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

func (f *Fleet) scheduleNode(n *nodeRecord, kind dueKind, due time.Time) {
	key := dueKey{node: n.name, kind: kind}
	if !f.queue.Add(key, nil, due) {
		f.queue.Reschedule(key, due)
	}
}
