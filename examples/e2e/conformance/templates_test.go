package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (d dice) key() string { return pick(d, "zone", "disk", "gpu", "example.com/pool") }

// value is one of a label or a taint, often a number.
func (d dice) value() string {
	return pick(d, "a", "b", "", "1", "7", "-3", "0042", "0x10", "9223372036854775808")
}

func (d dice) namedNode() *corev1.Node {
	node := d.node()
	if node.Name == "" {
		node.Name = "n1"
	}
	return node
}

// node is a node, or a template of nodes, which has no name.
func (d dice) node() *corev1.Node {
	node := &corev1.Node{}
	node.Name = pick(d, "n1", "n1", "n2", "")
	if !d.oneIn(10) {
		node.Labels = map[string]string{}
		for range d.IntN(6) {
			node.Labels[d.key()] = d.value()
		}
	}
	node.Spec.Taints = some(d, 3, d.taint)
	node.Spec.Unschedulable = d.oneIn(5) // which says nothing without its taint
	return node
}

var wellKnownTaints = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable,
	corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
	corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeOutOfService,
}

func (d dice) taint() corev1.Taint {
	taint := corev1.Taint{
		Key:    d.key(),
		Value:  d.value(),
		Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
	}
	if d.oneIn(2) {
		taint.Key = pick(d, wellKnownTaints...)
	}
	if d.oneIn(30) {
		taint.Effect = pick(d, "", corev1.TaintEffect("Never"))
	}
	return taint
}

func (d dice) toleration() corev1.Toleration {
	toleration := corev1.Toleration{
		Key: pick(d, d.key(), pick(d, wellKnownTaints...), ""),
		Operator: pick(d, "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt,
			corev1.TolerationOpGt, corev1.TolerationOperator("Like")),
		Value:  d.value(),
		Effect: pick(d, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
	}
	if toleration.Operator == corev1.TolerationOpExists && !d.oneIn(5) {
		toleration.Value = ""
	}
	if d.oneIn(4) {
		toleration.TolerationSeconds = new(int64(d.IntN(3) - 1))
	}
	return toleration
}

// expression is one of a term, now and then one that no API server would let
// in.
func (d dice) expression() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{
		Key: d.key(),
		Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
		Values: some(d, 3, d.value),
	}
	if d.oneIn(15) {
		r.Operator = pick(d, corev1.NodeSelectorOperator("Like"), "in", "")
	}
	if d.oneIn(40) {
		r.Key = pick(d, "not a key", "", "a/b/c")
	}
	if d.oneIn(5) {
		return r // with a number of values that the operator may not take
	}
	switch r.Operator {
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		r.Values = []string{pick(d, "0", "3", "9", "-5", "a", "1e3", "9223372036854775808")}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		r.Values = nil
	default:
	}
	return r
}

func (d dice) field() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{
		Key:      metav1.ObjectNameField,
		Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
		Values:   []string{pick(d, "n1", "n2", "")},
	}
	if d.oneIn(8) {
		r.Key = pick(d, "spec.providerID", "metadata.namespace", "")
	}
	if d.oneIn(8) {
		r.Operator = pick(d, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpGt, "")
	}
	if d.oneIn(8) {
		r.Values = pick(d, []string{"n1", "n2"}, []string{}, nil)
	}
	return r
}

func (d dice) term() corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: some(d, 2, d.expression), MatchFields: some(d, 1, d.field)}
}

func requiring(selector *corev1.NodeSelector) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
}

func (d dice) affinity() *corev1.Affinity {
	switch d.IntN(8) {
	case 0, 1:
		return nil
	case 2:
		return pick(d, &corev1.Affinity{}, requiring(nil), requiring(&corev1.NodeSelector{}))
	case 3: // what is only preferred does not count
		affinity := requiring(nil)
		affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: d.term()}}
		return affinity
	default:
		return requiring(&corev1.NodeSelector{NodeSelectorTerms: some(d, 3, d.term)})
	}
}

// template is a random one as far as placement goes.
func (d dice) template() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Spec.HostNetwork = d.oneIn(2)
	if d.oneIn(6) {
		t.Spec.NodeName = pick(d, "n1", "n2", "n3")
	}
	if d.oneIn(5) {
		t.Spec.NodeSelector = map[string]string{d.key(): d.value()}
		if d.oneIn(5) {
			t.Spec.NodeSelector = pick(d, map[string]string{}, map[string]string{"not a key": "a"},
				map[string]string{"zone": "not a value"})
		}
	}
	t.Spec.Tolerations = some(d, 3, d.toleration)
	t.Spec.Affinity = d.affinity()
	return t
}
