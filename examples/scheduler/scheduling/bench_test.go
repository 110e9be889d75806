package scheduling_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
)

// What one pod costs that is bound, and one for which another makes room. The
// excluded one is bound next to a pod with required anti-affinity on each node.
func BenchmarkPod(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("bound/nodes=%d", nodes), func(b *testing.B) {
			benchmarkPods(b, nodes, "1m", "1m")
		})
		b.Run(fmt.Sprintf("preempting/nodes=%d", nodes), func(b *testing.B) {
			benchmarkPods(b, nodes, "4", "4")
		})
		b.Run(fmt.Sprintf("excluded/nodes=%d", nodes), func(b *testing.B) {
			benchmarkPods(b, nodes, "1m", "1m", func(pod *corev1.Pod) {
				pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey:   corev1.LabelHostname,
						LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
					}},
				}}
			})
		})
	}
}

func benchmarkPods(b *testing.B, nodes int, lowCPU, highCPU string, shape ...func(*corev1.Pod)) {
	s, err := scheduling.New(scheduling.Config{SchedulerName: "lifecycle"}, start)
	require.NoError(b, err)
	jobs, err := s.Jobs(scheduling.Actions{
		Perform: func(context.Context, scheduling.Task) scheduling.Result {
			return scheduling.Result{Outcome: scheduling.OutcomeRefused}
		},
		Evict: func(context.Context, scheduling.Eviction) eviction.Result {
			return eviction.Result{Outcome: eviction.OutcomeBlocked}
		},
	}, start)
	require.NoError(b, err)
	for i := range nodes {
		node := nodeNamed(fmt.Sprintf("n%05d", i), func(n *corev1.Node) {
			n.Status.Allocatable = amounts("4", "8Gi", "1000000")
		})
		s.ObserveNode(start, node)
		s.ObservePod(start, podNamed(fmt.Sprintf("low%05d", i), lowCPU, append(shape, on(node.Name))...))
	}
	s.MarkSynced(start)
	_, _ = jobs.Start(start)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pod := podNamed(fmt.Sprintf("p%09d", i), highCPU, priority(1))
		s.ObservePod(start, pod)
		job, ok := jobs.Start(start)
		for !ok {
			job, ok = jobs.Start(start)
		}
		job.Perform(b.Context())
		job.Finish(start)
		s.ForgetPod(start, pod.UID)
	}
}
