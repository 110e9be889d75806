package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// The Events of each of the two controllers of kube-controller-manager are
// found under its name.
func TestEventsComeFromTheControllerThatWouldRecordThem(t *testing.T) {
	nodes, taints := record.NewFakeRecorder(2), record.NewFakeRecorder(2)
	e := &events{nodes: nodes, taints: taints}
	e.record(controller.Record{Type: corev1.EventTypeNormal, Reason: "RegisteredNode", Message: "100%"})
	e.record(controller.Record{Type: corev1.EventTypeNormal, Reason: controller.ReasonEviction, Message: "leaves"})
	e.warn([]string{"odd: 100%"})
	require.Len(t, nodes.Events, 2)
	require.Len(t, taints.Events, 1)
	require.Equal(t, "Normal RegisteredNode 100%", <-nodes.Events, "the message is no format")
	require.Equal(t, "Warning FlagsContradict odd: 100%", <-nodes.Events)
	require.Equal(t, "Normal TaintManagerEviction leaves", <-taints.Events)
}
