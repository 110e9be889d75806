package main

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// An operator finds in the log which object's watch is behind.
func TestAStaleObjectIsLogged(t *testing.T) {
	node := func(version string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: version}}
	}
	pod := func(version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", ResourceVersion: version}}
	}
	for want, test := range map[string]struct {
		action controller.Action
		result controller.Result
	}{
		`"msg"="The cached node is stale" "node"={"name"="n1"} "cachedVersion"="7" "version"="9"`: {
			controller.ReadNode{Node: node("7")}, controller.Result{Node: node("9")},
		},
		`"msg"="The cached pod is stale" "pod"={"name"="cart" "namespace"="shop"} "cachedVersion"="7" "version"="9"`: {
			controller.ReadPod{Pod: pod("7")}, controller.Result{Pod: pod("9")},
		},
	} {
		lines := linesOf(test.action, test.result)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], want)
	}
	for _, test := range []struct {
		action controller.Action
		result controller.Result
	}{
		{controller.ReadNode{Node: node("7")}, controller.Result{Node: node("7")}},
		{controller.ReadPod{Pod: pod("7")}, controller.Result{Pod: pod("7")}},
		{controller.PatchTaints{Node: node("7")}, controller.Result{Node: node("9")}},
	} {
		require.Empty(t, linesOf(test.action, test.result))
	}
}

func linesOf(action controller.Action, result controller.Result) (lines []string) {
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	(&performer{}).tell(logger, action, result)
	return lines
}

// The alerts read these counters.
func TestRefusedWritesAndStaleObjectsAreCounted(t *testing.T) {
	now := time.Now()
	core, err := controller.New(controller.Config{}, now)
	require.NoError(t, err)
	core.MarkSynced(now)
	var s settings
	command(&s).FlagSet()
	registry := prometheus.NewRegistry()
	_, err = newMetrics(&s, registry, state{core})
	require.NoError(t, err)
	cordoned := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7"},
		Spec:       corev1.NodeSpec{Unschedulable: true},
	}
	core.ObserveNode(now, cordoned)
	tainted := cordoned.DeepCopy()
	tainted.ResourceVersion = "9"
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	for range 3 {
		for task, ok := core.Start(now); ok; task, ok = core.Start(now) {
			var result controller.Result
			switch task.Action.(type) {
			case controller.PatchTaints:
				result.Err = apierrors.NewConflict(corev1.Resource("nodes"), "n", nil)
			case controller.ReadNode:
				result.Node = tainted
			}
			core.Finish(now, task, result)
		}
		now = now.Add(time.Minute)
	}
	values := map[string]float64{}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			values[family.GetName()] = metric.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 1, values["nodelifecycle_refused_writes_total"], 0)
	require.InDelta(t, 1, values["nodelifecycle_stale_objects_total"], 0)
}
