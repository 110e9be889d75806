package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const nodeStatuses = 2_000

// The conditions of a node under faults are those that upstream's setters make
// of the same pressure and network, and of the capacity that the node reports,
// in their order. Upstream finds that capacity complete, whatever the object
// lacks.
func TestConditionsOfANodeAreThoseOfTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(nodeStatuses) {
		d := throw(seed)
		node := d.incompleteNode()
		faults := kubelet.Faults{NetworkDown: d.oneIn(3),
			MemoryPressure: d.oneIn(3), DiskPressure: d.oneIn(3), PIDPressure: d.oneIn(3)}
		fleet, _ := new(kubeletWorld).frozen(t, node)
		fleet.SetFaults(epoch, hollowNode, faults)
		for task, ok := fleet.Start(epoch); ok; task, ok = fleet.Start(epoch) {
			fleet.Finish(epoch, task, kubelet.ResultDone)
		}
		got, ok := fleet.NodeStatus(epoch, hollowNode)
		require.True(t, ok)
		node.Status.Capacity = got.Capacity
		require.Equal(t, upstreamNodeConditions(t, node, faults), got.Conditions, "seed %d", seed)
		for _, c := range got.Conditions {
			reached.count("%s %s", c.Type, c.Reason)
		}
	}
	reached.require(t, floors{
		"Ready KubeletReady": 1_200, "Ready KubeletNotReady": 600,
		"MemoryPressure KubeletHasSufficientMemory": 600, "MemoryPressure KubeletHasInsufficientMemory": 300,
		"DiskPressure KubeletHasNoDiskPressure": 600, "DiskPressure KubeletHasDiskPressure": 300,
		"PIDPressure KubeletHasSufficientPID": 600, "PIDPressure KubeletHasInsufficientPID": 300,
	})
}

// incompleteNode may lack a capacity.
func (d dice) incompleteNode() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode}}
	node.Status.Capacity = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
	} {
		if !d.oneIn(6) {
			node.Status.Capacity[name] = resource.MustParse("1")
		}
	}
	return node
}

// upstreamNodeConditions are those of upstream, without times, which
// heartbeat.Sender sets.
func upstreamNodeConditions(t *testing.T, node *corev1.Node, faults kubelet.Faults) []corev1.NodeCondition {
	node = node.DeepCopy()
	now := func() time.Time { return epoch }
	none := func() error { return nil }
	event := func(klog.Logger, string, string) {}
	network := func() error {
		if faults.NetworkDown {
			// As pkg/kubelet/kubelet.go says it, with the answer of containerd.
			return errors.New("container runtime network not ready: NetworkReady=false " +
				"reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
		}
		return nil
	}
	is := func(pressed bool) func() bool { return func() bool { return pressed } }
	for _, set := range []func(context.Context, *corev1.Node) error{
		nodestatus.MemoryPressureCondition(now, is(faults.MemoryPressure), event),
		nodestatus.DiskPressureCondition(now, is(faults.DiskPressure), event),
		nodestatus.PIDPressureCondition(now, is(faults.PIDPressure), event),
		nodestatus.ReadyCondition(now, none, network, none, func() cm.Status { return cm.Status{} }, none, event, true),
	} {
		require.NoError(t, set(t.Context(), node))
	}
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		c.LastHeartbeatTime, c.LastTransitionTime = metav1.Time{}, metav1.Time{}
	}
	return node.Status.Conditions
}
