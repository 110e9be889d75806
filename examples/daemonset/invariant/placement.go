package invariant

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// place is whether a pod belongs on a node.
type place struct{ run, stay bool }

// placeOf restates where a template belongs: by labels and taints. Daemon pods
// tolerate what kube-controller-manager has them tolerate; see "Taints and
// tolerations" of its documentation on DaemonSets.
func placeOf(set *appsv1.DaemonSet, node *corev1.Node) place {
	if node == nil {
		return place{}
	}
	spec := &set.Spec.Template.Spec
	for key, value := range spec.NodeSelector {
		if node.Labels[key] != value {
			return place{}
		}
	}
	p := place{run: true, stay: true}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(&t, taint) }) ||
			isTolerated(taint) {
			continue
		}
		switch taint.Effect {
		case corev1.TaintEffectNoExecute:
			return place{}
		case corev1.TaintEffectNoSchedule:
			p.run = false
		case corev1.TaintEffectPreferNoSchedule:
		}
	}
	return p
}

func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Key != "" && t.Key != taint.Key || t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Value == taint.Value
}

// isTolerated reports whether all daemon pods tolerate a taint.
func isTolerated(taint *corev1.Taint) bool {
	switch taint.Effect {
	case corev1.TaintEffectNoExecute:
		return taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable
	case corev1.TaintEffectNoSchedule:
		return slices.Contains([]string{
			corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure,
			corev1.TaintNodeUnschedulable,
		}, taint.Key)
	case corev1.TaintEffectPreferNoSchedule:
	}
	return false
}

// nodeOf returns the node that a pod is bound to, or that its affinity names.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, field := range required.NodeSelectorTerms[0].MatchFields {
		if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}

func leaving(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// stays reports whether a pod is there and nothing has asked it to leave.
func stays(pod *corev1.Pod) bool { return !leaving(pod) && !terminal(pod) }

func hashOf(object metav1.Object) string {
	return object.GetLabels()[appsv1.ControllerRevisionHashLabelKey]
}

func ready(pod *corev1.Pod) (since time.Time, is bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// availableAt returns whether a pod of a set serves at a time.
func availableAt(set *appsv1.DaemonSet, now time.Time) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		since, isReady := ready(pod)
		wait := time.Duration(set.Spec.MinReadySeconds) * time.Second
		return isReady && stays(pod) && !now.Before(since.Add(wait))
	}
}

// limits are maxUnavailable and maxSurge for so many nodes.
func limits(set *appsv1.DaemonSet, nodes int) (unavailable, surge int) {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil {
		return 1, 0
	}
	unavailable, surge = amount(rolling.MaxUnavailable, nodes), amount(rolling.MaxSurge, nodes)
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

func amount(of *intstr.IntOrString, nodes int) int {
	if of == nil {
		return 0
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(of, nodes, true)
	if err != nil {
		return 0
	}
	return scaled
}

func surges(set *appsv1.DaemonSet) bool {
	_, surge := limits(set, 1)
	return !onDelete(set) && surge > 0
}

func onDelete(set *appsv1.DaemonSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
}

// templateOf returns the template that a revision keeps.
func templateOf(revision *appsv1.ControllerRevision) *corev1.PodTemplateSpec {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.NewDecoder(bytes.NewReader(revision.Data.Raw)).Decode(&data); err != nil {
		return &corev1.PodTemplateSpec{}
	}
	return &data.Spec.Template
}

func keeps(revision *appsv1.ControllerRevision, template *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(templateOf(revision), template)
}

func selects(set *appsv1.DaemonSet, object metav1.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	return err == nil && selector.Matches(labelsOf(object))
}
