package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	upstreamutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

func daemonComparisons() []comparison {
	const sync = 5_000
	return []comparison{
		{
			name: "does a pod belong on a node", of: "labels", sizes: []int{len(labelledNode().Labels)},
			ours: placeOurs, upstream: placeUpstream,
		},
		{name: "sync, nothing to do, from nothing", of: "nodes", sizes: []int{sync}, ours: fromNothing(idle),
			upstream: syncUpstream(idle)},
		{name: "sync, nothing to do, a node has changed", of: "nodes", sizes: []int{sync}, ours: nodeChangeOurs,
			upstream: syncUpstream(idle)},
		{name: "sync, nothing to do, a pod has changed", of: "nodes", sizes: []int{sync}, ours: podChangeOurs,
			upstream: syncUpstream(idle)},
		{name: "sync, no pod yet, from nothing", of: "nodes", sizes: []int{sync}, ours: fromNothing(empty),
			upstream: syncUpstream(empty)},
		{name: "sync, no pod yet", of: "nodes", sizes: []int{sync}, ours: known(empty), upstream: syncUpstream(empty)},
		{name: "sync, rolling update, from nothing", of: "nodes", sizes: []int{sync}, ours: fromNothing(rolling),
			upstream: syncUpstream(rolling)},
		{name: "sync, rolling update", of: "nodes", sizes: []int{sync}, ours: known(rolling),
			upstream: syncUpstream(rolling)},

		{name: "full plan, nothing to do", of: "nodes", sizes: []int{10_000}, ours: fromNothing(idle)},
		{name: "full plan, rolling update", of: "nodes", sizes: []int{10_000}, ours: fromNothing(rolling)},
		{name: "a node has changed", of: "nodes", sizes: []int{100_000}, ours: nodeChangeOurs},
		{name: "a pod has changed", of: "nodes", sizes: []int{100_000}, ours: podChangeOurs},
	}
}

// labelledNode has as many labels as a cloud gives a node, and two taints,
// which daemon pods tolerate.
func labelledNode() *corev1.Node {
	node := readyNode("node-1")
	for _, label := range []string{
		corev1.LabelInstanceTypeStable, "node.kubernetes.io/pool", "example.com/disk", "example.com/generation",
		"example.com/team",
	} {
		node.Labels[label] = "some"
	}
	node.Spec.Taints = []corev1.Taint{
		{Key: "dedicated", Value: "database", Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	return node
}

// agentSet is a DaemonSet as people write them: for Linux, in some zones or
// where there is some disk, also on dedicated nodes.
func agentSet() *appsv1.DaemonSet {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	labels := map[string]string{"app": "agent"}
	spec := corev1.PodSpec{
		NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{in("example.com/disk", "fast", "faster"),
					in(corev1.LabelArchStable, "amd64")}},
				{MatchExpressions: []corev1.NodeSelectorRequirement{
					in(corev1.LabelArchStable, "amd64", "arm64"),
					{Key: "example.com/virtual", Operator: corev1.NodeSelectorOpDoesNotExist},
				}},
			}},
		}},
		Tolerations: []corev1.Toleration{
			{Key: "example.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "database", Effect: corev1.TaintEffectNoSchedule},
		},
		Containers: []corev1.Container{{Name: "agent", Image: "registry.example/agent:v1"}},
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", UID: "uid-of-agent", Generation: 1},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{
					MaxUnavailable: new(intstr.FromString("10%")), MaxSurge: new(intstr.FromInt32(0)),
				},
			},
			RevisionHistoryLimit: new(int32(10)),
		},
	}
}

// The placement is compiled once, and asked about each node.
func placeOurs(tb testing.TB, _ int) work {
	placement, node := daemon.Compile(&agentSet().Spec.Template, taints.Matcher{}), labelledNode()
	return work{op: func() {
		if !placement.Place(node).ShouldRun {
			tb.Fatal("it belongs there")
		}
	}}
}

// Upstream: NodeShouldRunDaemonPod of pkg/controller/daemon, which is all that
// it exports. It parses the template for each node. Its own loops parse it
// once, which the rows on whole syncs show.
func placeUpstream(tb testing.TB, _ int) work {
	set, node, logger := agentSet(), labelledNode(), klog.Background()
	return work{op: func() {
		if run, _ := upstreamdaemon.NodeShouldRunDaemonPod(logger, node, set); !run {
			tb.Fatal("it belongs there")
		}
	}}
}

// The figure that goes with this is in the table.
func TestPlacementAllocatesNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(1000, placeOurs(t, 0).op))
}

// A state is how far the pods of a DaemonSet are.
type state int

const (
	// idle: there is one on each node, and available.
	idle state = iota
	// empty: there is none.
	empty
	// rolling: half of them are of a former revision, and some new ones not ready.
	rolling
)

// burst is how many pods both sides create or delete at a time.
const burst = upstreamdaemon.BurstReplicas

// creates and deletes are how many of the steps both sides have to come to.
func (s state) creates(size int) int {
	if s == empty {
		return min(size, burst)
	}
	return 0
}

func (s state) deletes(size int) int {
	if s != rolling {
		return 0
	}
	return min(size-size*9/10-(size+24)/25, burst)
}

// A daemonCluster is nodes, a DaemonSet, and its pods in some state.
type daemonCluster struct {
	set   *appsv1.DaemonSet
	hash  string
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func newDaemonCluster(s state, size int) *daemonCluster {
	c := &daemonCluster{set: agentSet(), nodes: newCluster(size).nodes}
	c.hash = controller.ComputeHash(&c.set.Spec.Template, nil)
	if s == empty {
		return c
	}
	for i, node := range c.nodes {
		pod := c.pod(node.Name)
		switch {
		case s == idle:
		case i%25 == 0:
			pod.Status.Conditions[1].Status = corev1.ConditionFalse
		case i%2 == 0:
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "former"
		}
		c.pods = append(c.pods, pod)
	}
	return c
}

// pod is one of the current revision that is available.
func (c *daemonCluster) pod(node string) *corev1.Pod {
	pod := upstreamdaemon.NewPod(c.set, node)
	pod.Name, pod.UID, pod.ResourceVersion = "agent-"+node, types.UID("uid-of-agent-"+node), "1"
	pod.CreationTimestamp = metav1.NewTime(epoch.Add(-time.Hour))
	pod.Labels = map[string]string{"app": "agent", appsv1.ControllerRevisionHashLabelKey: c.hash}
	pod.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(c.set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	pod.Spec.Affinity = upstreamutil.ReplaceDaemonSetPodNodeNameNodeAffinity(pod.Spec.Affinity.DeepCopy(), node)
	pod.Status.Phase = corev1.PodRunning
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized,
		corev1.ContainersReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
		})
	}
	return pod
}

func (c *daemonCluster) check(tb testing.TB, s state, creates, deletes int) {
	tb.Helper()
	if size := len(c.nodes); creates != s.creates(size) || deletes != s.deletes(size) {
		tb.Fatalf("%d creations and %d deletions, want %d and %d", creates, deletes, s.creates(size), s.deletes(size))
	}
}
