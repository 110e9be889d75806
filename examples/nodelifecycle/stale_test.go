package main

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

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
	logged := func(tell func(ctx context.Context, f *finisher)) (lines []string) {
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		tell(klog.NewContext(t.Context(), logger), &finisher{})
		return lines
	}
	change := func(action controller.NodeAction, version string) []string {
		return logged(func(ctx context.Context, f *finisher) {
			f.changedNode(ctx, controller.NodeChange{Action: action, Node: node(version)},
				controller.Result[*corev1.Node]{Object: node("9")})
		})
	}
	mark := func(action controller.PodAction, version string) []string {
		return logged(func(ctx context.Context, f *finisher) {
			f.markedPod(ctx, controller.PodMark{Action: action, Pod: pod(version)},
				controller.Result[*corev1.Pod]{Object: pod("9")})
		})
	}
	for want, lines := range map[string][]string{
		`"msg"="The cached node is stale" "node"={"name"="n1"} "cachedVersion"="7" "version"="9"`:                    change(controller.NodeActionRead, "7"),
		`"msg"="The cached pod is stale" "pod"={"name"="cart" "namespace"="shop"} "cachedVersion"="7" "version"="9"`: mark(controller.PodActionRead, "7"),
	} {
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], want)
	}
	require.Empty(t, change(controller.NodeActionRead, "9"))
	require.Empty(t, mark(controller.PodActionRead, "9"))
	require.Empty(t, change(controller.NodeActionTaint, "7"))
	require.Empty(t, mark(controller.PodActionMark, "7"))
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
	jobs, err := core.Jobs(answering(func(change controller.NodeChange) controller.Result[*corev1.Node] {
		if change.Action == controller.NodeActionRead {
			return controller.Result[*corev1.Node]{Object: tainted}
		}
		return controller.Result[*corev1.Node]{Err: apierrors.NewConflict(corev1.Resource("nodes"), "n", nil)}
	}), now)
	require.NoError(t, err)
	for range 3 {
		perform(t, jobs, now)
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
