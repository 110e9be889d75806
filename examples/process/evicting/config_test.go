package evicting_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

var start = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// tracked is a tracker with two tainted nodes and these pods, all due at once.
func tracked(t *testing.T, config eviction.Config, pods ...*corev1.Pod) *eviction.Tracker {
	t.Helper()
	tracker, err := eviction.NewTracker(config, start)
	require.NoError(t, err)
	for _, name := range []string{"n1", "n2"} {
		tracker.ObserveNode(start, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
		})
	}
	for _, pod := range pods {
		tracker.ObservePod(start, pod)
	}
	tracker.MarkSynced()
	return tracker
}

func podOn(node, namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// leaving are the names of the pods that are handed out at a time, in order.
func leaving(tracker *eviction.Tracker, after time.Duration) []string {
	names := []string{}
	for task, ok := tracker.Start(start.Add(after)); ok; task, ok = tracker.Start(start.Add(after)) {
		names = append(names, task.Pod.Name)
		tracker.Finish(start.Add(after), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	}
	return names
}

func TestBudgetsAreThoseOfTheFlags(t *testing.T) {
	pods := func() []*corev1.Pod {
		return []*corev1.Pod{
			podOn("n1", "a", "1"), podOn("n1", "a", "2"), podOn("n1", "b", "3"),
			podOn("n2", "b", "4"), podOn("n2", "c", "5"), podOn("n2", "c", "6"),
		}
	}
	for name, test := range map[string]struct {
		flags              []string
		atOnce, in2Seconds []string // sorted
	}{
		"none": {nil, []string{"1", "2", "3", "4", "5", "6"}, nil},
		"zero is none": {[]string{"--budget-overall=0", "--budget-per-node=0"}, []string{"1", "2", "3", "4", "5", "6"},
			nil},
		"overall":        {[]string{"--budget-overall=0.5"}, []string{"1"}, []string{"2"}},
		"overall, burst": {[]string{"--budget-overall=0.5", "--budget-burst=3"}, []string{"1", "2", "3"}, []string{"4"}},
		"a node":         {[]string{"--budget-per-node=0.5"}, []string{"1", "4"}, []string{"2", "5"}},
		"a node, burst": {[]string{"--budget-per-node=0.5", "--budget-burst=2"}, []string{"1", "2", "4", "5"},
			[]string{"3", "6"}},
		"a namespace": {[]string{"--budget-per-namespace=0.5"}, []string{"1", "3", "5"}, []string{"2", "4", "6"}},
		"node, namespace": {[]string{"--budget-per-node=0.5", "--budget-per-namespace=0.25"}, []string{"1", "4"},
			[]string{"5"}},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := tracked(t, parsed(t, test.flags...).Config(), pods()...)
			require.Equal(t, test.atOnce, slices.Sorted(slices.Values(leaving(tracker, 0))))
			require.Empty(t, leaving(tracker, 1900*time.Millisecond))
			require.Equal(t, test.in2Seconds, slices.Sorted(slices.Values(leaving(tracker, 2*time.Second))))
		})
	}
}

// The names are what metrics and SetLimit call them by.
func TestBudgetsHaveNames(t *testing.T) {
	config := parsed(t, "--budget-overall=1", "--budget-per-node=2", "--budget-per-namespace=3", "--budget-burst=4").
		Config()
	var names []string
	for i, b := range config.Budgets {
		names = append(names, b.Name)
		require.InDelta(t, i+1, float64(b.Limit), 0)
		require.Equal(t, 4, b.Burst)
	}
	require.Equal(t, []string{"overall", "node", "namespace"}, names)
}

func TestLowPriorityFirst(t *testing.T) {
	pods := []*corev1.Pod{podOn("n1", "a", "high"), podOn("n1", "a", "low"), podOn("n1", "a", "none")}
	pods[0].Spec.Priority, pods[1].Spec.Priority = ptr.To[int32](1000), ptr.To[int32](-10)
	require.Equal(t, []string{"high", "low", "none"}, leaving(tracked(t, parsed(t).Config(), pods...), 0))
	require.Equal(t, []string{"low", "none", "high"},
		leaving(tracked(t, parsed(t, "--low-priority-first").Config(), pods...), 0))
}

func TestSparedPodsAreExempt(t *testing.T) {
	mirror, finished, agent, web := podOn("n1", "a", "mirror"), podOn("n1", "a", "finished"), podOn("n1", "a", "agent"),
		podOn("n1", "a", "web")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	finished.Status.Phase = corev1.PodSucceeded
	agent.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
	require.Nil(t, parsed(t, "--spare-mirror-pods=false").Config().Exempt, "as kube-controller-manager")
	for flags, left := range map[[2]string][]string{
		{}:                            {"agent", "finished", "web"},
		{"--spare-mirror-pods=false"}: {"agent", "finished", "mirror", "web"},
		{"--spare-finished-pods"}:     {"agent", "web"},
		{"--spare-finished-pods", "--spare-mirror-pods=false"}: {"agent", "mirror", "web"},
		{"--spare-finished-pods", "--spare-daemonset-pods"}:    {"web"},
	} {
		var args []string
		for _, flag := range flags {
			if flag != "" {
				args = append(args, flag)
			}
		}
		tracker := tracked(t, parsed(t, args...).Config(), mirror, finished, agent, web)
		require.Equal(t, left, slices.Sorted(slices.Values(leaving(tracker, 0))), args)
	}
}
