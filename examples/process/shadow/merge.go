package shadow

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// mergeNode returns the shadow's view of a node that it had a view of when the
// watch showed was, and now shows actual.
func mergeNode(was, had, actual *corev1.Node) *corev1.Node {
	conditions, taints := nodeConditions(was, had, actual), nodeTaints(had, actual)
	labels := nodeLabels(had, actual)
	if conditions == nil && taints == nil && labels == nil {
		return actual
	}
	view := *actual
	if conditions != nil {
		view.Status.Conditions = conditions
	}
	if taints != nil {
		view.Spec.Taints = taints
	}
	if labels != nil {
		view.Labels = labels
	}
	return &view
}

// nodeConditions returns the conditions of the view, nil if they are the real
// ones. A condition that did not change is what it was in the view. One that
// another observer has made Unknown is left as it was, and one that the kubelet
// or another agent has written is taken.
func nodeConditions(was, had, actual *corev1.Node) []corev1.NodeCondition {
	list := make([]corev1.NodeCondition, 0, len(actual.Status.Conditions))
	differs := false
	for i := range actual.Status.Conditions {
		c := &actual.Status.Conditions[i]
		before, seen := nodeCondition(was, c.Type), nodeCondition(had, c.Type)
		switch {
		case !byObserver(c) && !equality.Semantic.DeepEqual(before, c):
			list = append(list, *c)
		case seen == nil:
			differs = true // another observer has added it
		default:
			differs = differs || !equality.Semantic.DeepEqual(seen, c)
			list = append(list, *seen)
		}
	}
	for i := range had.Status.Conditions {
		c := &had.Status.Conditions[i]
		if nodeCondition(actual, c.Type) == nil && nodeCondition(was, c.Type) == nil {
			list, differs = append(list, *c), true // the shadow has added it
		}
	}
	if !differs {
		return nil
	}
	return list
}

func nodeCondition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// nodeTaints returns the taints of the view, nil if they are the real ones. It
// has the real taints that are not the controllers' to write, and the shadow's
// of the others.
func nodeTaints(had, actual *corev1.Node) []corev1.Taint {
	controlled := func(t corev1.Taint) bool {
		_, ok := taintFact(actual, &t)
		return ok
	}
	if slices.EqualFunc(filter(had.Spec.Taints, controlled), filter(actual.Spec.Taints, controlled), sameTaint) {
		return nil
	}
	list := filter(actual.Spec.Taints, func(t corev1.Taint) bool { return !controlled(t) })
	return append(list, filter(had.Spec.Taints, controlled)...)
}

func filter(all []corev1.Taint, keep func(corev1.Taint) bool) []corev1.Taint {
	some := make([]corev1.Taint, 0, len(all))
	for _, t := range all {
		if keep(t) {
			some = append(some, t)
		}
	}
	return some
}

func sameTaint(a, b corev1.Taint) bool { return equality.Semantic.DeepEqual(a, b) }

// nodeLabels returns the labels of the view, nil if they are the real ones. The
// older labels are the controllers' to write, so they are the shadow's.
func nodeLabels(had, actual *corev1.Node) map[string]string {
	var labels map[string]string
	for _, key := range olderLabels {
		own, has := had.Labels[key]
		if is, there := actual.Labels[key]; has == there && own == is {
			continue
		}
		if labels == nil {
			labels = make(map[string]string, len(actual.Labels)+1)
			maps.Copy(labels, actual.Labels)
		}
		if delete(labels, key); has {
			labels[key] = own
		}
	}
	return labels
}

// mergePod returns the shadow's view of a pod. silent says that the pod's
// kubelet is, so that what has changed about the pod's readiness is another
// controller's write.
func mergePod(was, had, actual *corev1.Pod, silent bool) *corev1.Pod {
	conditions := podConditions(was, had, actual, silent)
	deletion := actual.DeletionTimestamp
	if had.DeletionTimestamp != nil || was.DeletionTimestamp == nil && evictedByOther(actual) ||
		was.DeletionTimestamp != nil && had.DeletionTimestamp == nil {
		deletion = had.DeletionTimestamp
	}
	if conditions == nil && deletion == actual.DeletionTimestamp {
		return actual
	}
	view := *actual
	view.DeletionTimestamp = deletion
	if conditions != nil {
		view.Status.Conditions = conditions
	}
	return &view
}

// podConditions returns the conditions of the view, nil if they are the real
// ones. Only those that controllers write can differ. Each stays in its place,
// because a patch that is under way tests it there.
func podConditions(was, had, actual *corev1.Pod, silent bool) []corev1.PodCondition {
	differs := false
	list := slices.Clone(actual.Status.Conditions)
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.DisruptionTarget} {
		before, now, seen := podCondition(was, kind), podCondition(actual, kind), podCondition(had, kind)
		unchanged := equality.Semantic.DeepEqual(before, now)
		byOther := kind == corev1.PodReady && silent && now != nil && now.Status == corev1.ConditionFalse ||
			kind == corev1.DisruptionTarget && markedByOther(now)
		if !unchanged && !byOther || equality.Semantic.DeepEqual(seen, now) {
			continue
		}
		differs = true
		place := slices.IndexFunc(list, func(c corev1.PodCondition) bool { return c.Type == kind })
		switch {
		case seen == nil:
			list = slices.Delete(list, place, place+1)
		case place < 0:
			list = append(list, *seen)
		default:
			list[place] = *seen
		}
	}
	if !differs {
		return nil
	}
	return list
}
