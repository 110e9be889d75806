package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// fleet is a cluster with a pod of revision "old" on each node.
func fleet(size int) (nodes []*corev1.Node, pods []*corev1.Pod) {
	for i := range size {
		name := fmt.Sprintf("node-%06d", i)
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"kubernetes.io/os": "linux",
				"kubernetes.io/hostname": name, "pool": "default"},
		}})
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "agent-" + name, UID: types.UID(name), ResourceVersion: fmt.Sprint(1 + i),
				Labels: map[string]string{"app": "agent", "controller-revision-hash": "old"},
			},
			Spec: corev1.PodSpec{NodeName: name},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
				{
					Type:               corev1.PodReady,
					Status:             corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(start.Add(-time.Hour)),
				},
			}},
		})
	}
	return nodes, pods
}

func agent(revision string) rollout.Spec {
	return rollout.Spec{
		Template: &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{NodeSelector: map[string]string{"kubernetes.io/os": "linux"}},
		},
		Revision: revision,
		MinReady: 10 * time.Second,
		Strategy: rollout.Strategy{MaxUnavailable: intstr.FromString("2%")},
	}
}

func fullPlan(
	tb testing.TB,
	nodes []*corev1.Node,
	pods []*corev1.Pod,
	revision string,
) (*rollout.Planner, plan) {
	store := new(rollout.Nodes)
	planner, err := rollout.NewPlanner(rollout.Config{Spec: agent(revision), Nodes: store}, start)
	require.NoError(tb, err)
	for _, node := range nodes {
		planner.ObserveNode(start, node)
	}
	for _, pod := range pods {
		planner.ObservePod(start, pod)
	}
	return planner, planOf(planner, start)
}

// BenchmarkFullPlan is what a controller does at its start: it learns of all
// nodes and pods and plans.
func BenchmarkFullPlanOf10000Nodes(b *testing.B) {
	nodes, pods := fleet(10_000)
	for name, test := range map[string]struct {
		pods     []*corev1.Pod
		revision string
		want     int
	}{
		"quiet":   {pods, "old", 0},
		"rollout": {pods, "new", 200},
		"empty":   {nil, "old", 1},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, plan := fullPlan(b, nodes, test.pods, test.revision)
				require.Len(b, plan.Create, max(0, test.want-len(plan.Delete)))
				require.Equal(b, test.want, len(plan.Create)+len(plan.Delete))
			}
		})
	}
}

// BenchmarkOneChange is what an event costs when all else is known.
func BenchmarkOneChangeAmong100000Nodes(b *testing.B) {
	nodes, pods := fleet(100_000)
	for name, revision := range map[string]string{"quiet": "old", "rollout": "new"} {
		planner, plan := fullPlan(b, nodes, pods, revision)
		for !plan.Empty() {
			plan = planOf(planner, start)
		}
		cordoned := nodes[77_777].DeepCopy()
		cordoned.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		}
		b.Run(name+"/node", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				planner.ObserveNode(start, cordoned)
				planOf(planner, start)
				planner.ObserveNode(start, nodes[77_777])
				planOf(planner, start)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/change")
		})
		unready := pods[77_777].DeepCopy()
		unready.Status.Conditions[2].Status = corev1.ConditionFalse
		b.Run(name+"/pod", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				planner.ObservePod(start, unready)
				planner.Evaluate(start, 10)
				planner.ObservePod(start, pods[77_777])
				planOf(planner, start)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/change")
		})
	}
}
