package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// An eviction that keeps failing, as with a webhook that denies it, is seen in
// kubectl describe pod.
func TestAnEvictionThatKeepsFailingIsAnEventOfThePod(t *testing.T) {
	taints := record.NewFakeRecorder(2)
	f := &finisher{events: &events{taints: taints}}
	f.evicted(t.Context(), eviction.Task{Node: "n", Attempts: 1},
		eviction.Result{Outcome: eviction.OutcomeFailed, Err: errors.New("denied")})
	require.Len(t, taints.Events, 1)
	require.Equal(t, "Warning FailedEviction Eviction from node n has failed 2 times and is tried again: denied",
		<-taints.Events)
}

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
