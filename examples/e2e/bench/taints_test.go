package bench

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	taintutils "k8s.io/kubernetes/pkg/util/taints"

	"github.com/kubelife/lifecycle/taints"
)

func taintComparisons() []comparison {
	healthy, ill := readyNode("node-1"), taintedNode()
	return []comparison{
		{
			name: "changes of a quiet node, desired taints given", of: "taints", sizes: []int{len(healthy.Spec.Taints)},
			ours: reconcileOurs(healthy), upstream: reconcileUpstream(healthy),
		},
		{
			name: "changes of a quiet node, desired taints given", of: "taints", sizes: []int{len(ill.Spec.Taints)},
			ours: reconcileOurs(ill), upstream: reconcileUpstream(ill),
		},
		{name: "changes of a quiet node, desired taints worked out", of: "taints", sizes: []int{len(healthy.Spec.Taints)},
			ours: desiredOurs(healthy)},
		{name: "changes of a quiet node, desired taints worked out", of: "taints", sizes: []int{len(ill.Spec.Taints)},
			ours: desiredOurs(ill)},
		{name: "diff of equal lists", of: "taints", sizes: []int{len(ill.Spec.Taints)}, ours: diffOurs,
			upstream: diffUpstream},
		{name: "toleration for each NoExecute taint", of: "taints", sizes: []int{2}, ours: matchOurs,
			upstream: matchUpstream},
	}
}

// taintedNode has five taints: three that follow from its conditions and from
// spec.unschedulable, one of an administrator, and unreachable:NoExecute.
func taintedNode() *corev1.Node {
	node := readyNode("node-1")
	node.Spec.Unschedulable = true
	for i := range node.Status.Conditions {
		switch condition := &node.Status.Conditions[i]; condition.Type {
		case corev1.NodeReady:
			condition.Status = corev1.ConditionUnknown
		case corev1.NodeDiskPressure:
			condition.Status = corev1.ConditionTrue
		default:
		}
	}
	node.Spec.Taints = []corev1.Taint{
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "dedicated", Value: "database", Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	return node
}

// A node has had an event and the NoSchedule taints that it should have are
// known. What has to be changed? Nothing.
func reconcileOurs(node *corev1.Node) func(testing.TB, int) work {
	return func(tb testing.TB, _ int) work {
		desired := taints.AppendNoSchedule(nil, node)
		return work{op: func() {
			if _, changed := taints.Reconcile(node.Spec.Taints, desired, taints.OwnsNoSchedule, epoch); changed {
				tb.Fatal("nothing had to change")
			}
		}}
	}
}

// Upstream: TaintSetFilter and TaintSetDiff of pkg/util/taints, as
// doNoScheduleTaintingPass of the node lifecycle controller uses them.
func reconcileUpstream(node *corev1.Node) func(testing.TB, int) work {
	return func(tb testing.TB, _ int) work {
		desired := taints.AppendNoSchedule(nil, node)
		return work{op: func() {
			current := taintutils.TaintSetFilter(node.Spec.Taints, taints.OwnsNoSchedule)
			if add, remove := taintutils.TaintSetDiff(desired, current); len(add)+len(remove) > 0 {
				tb.Fatal("nothing had to change")
			}
		}}
	}
}

// The same, with the desired taints worked out from conditions and
// spec.unschedulable. How upstream does that is not exported.
func desiredOurs(node *corev1.Node) func(testing.TB, int) work {
	return func(tb testing.TB, _ int) work {
		return work{op: func() {
			var room [8]corev1.Taint
			desired := taints.AppendNoSchedule(room[:0], node)
			if _, changed := taints.Reconcile(node.Spec.Taints, desired, taints.OwnsNoSchedule, epoch); changed {
				tb.Fatal("nothing had to change")
			}
		}}
	}
}

func diffOurs(tb testing.TB, _ int) work {
	current := taintedNode().Spec.Taints
	desired := slices.Clone(current)
	return work{op: func() {
		if add, remove := taints.Diff(desired, current); len(add)+len(remove) > 0 {
			tb.Fatal("nothing had to change")
		}
	}}
}

// Upstream: TaintSetDiff of pkg/util/taints.
func diffUpstream(tb testing.TB, _ int) work {
	current := taintedNode().Spec.Taints
	desired := slices.Clone(current)
	return work{op: func() {
		if add, remove := taintutils.TaintSetDiff(desired, current); len(add)+len(remove) > 0 {
			tb.Fatal("nothing had to change")
		}
	}}
}

// matching is a node that is ill in two ways, and a pod that tolerates both. It
// tolerates one for ever, the other for the time that every pod gets by
// default.
func matching() ([]corev1.Taint, []corev1.Toleration) {
	on := []corev1.Taint{
		{Key: "maintenance", Value: "planned", Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	}
	tolerations := append([]corev1.Toleration{
		{Key: "maintenance", Operator: corev1.TolerationOpEqual, Value: "planned", Effect: corev1.TaintEffectNoExecute},
	}, defaultTolerations...)
	return on, tolerations
}

func matchOurs(tb testing.TB, _ int) work {
	on, tolerations := matching()
	matcher := taints.Matcher{}
	return work{op: func() {
		for i := range on {
			if matcher.First(tolerations, &on[i]) == nil {
				tb.Fatal("every taint is tolerated")
			}
		}
	}}
}

// Upstream: GetMatchingTolerations of pkg/apis/core/v1/helper, which returns a
// list of the tolerations.
func matchUpstream(tb testing.TB, _ int) work {
	on, tolerations := matching()
	logger := klog.Background()
	return work{op: func() {
		if all, used := helper.GetMatchingTolerations(logger, on, tolerations); !all || len(used) != len(on) {
			tb.Fatal("every taint is tolerated")
		}
	}}
}
