package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/klog/v2"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

const (
	placements       = 20_000
	nodesOfPlacement = 10
)

func TestPlacementIsThatOfUpstream(t *testing.T) {
	for _, compareNumbers := range []bool{false, true} {
		t.Run(fmt.Sprintf("%s=%v", features.TaintTolerationComparisonOperators, compareNumbers), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate,
				features.TaintTolerationComparisonOperators, compareNumbers)
			c := placementComparison{T: t, reached: reached{},
				matcher: taints.Matcher{EnableComparisonOperators: compareNumbers}}
			for seed := range seeds(placements) {
				c.compareSeed(seed)
			}
			c.reached.require(t, placementFloors(compareNumbers))
		})
	}
}

// placementFloors are below half of what an ordinary run comes to.
func placementFloors(compareNumbers bool) floors {
	f := floors{
		"pairs":                               placements * nodesOfPlacement,
		"run":                                 20_000,
		"keep only":                           3_000,
		"neither":                             50_000,
		"reason Fits":                         20_000,
		"reason OtherNode":                    5_000,
		"reason NodeSelector":                 5_000,
		"reason NodeAffinity":                 20_000,
		"reason Tainted":                      20_000,
		"node without a name":                 20_000,
		"template with problem":               2_000,
		"problem next to a term that matches": 500,
	}
	for _, operator := range []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	} {
		f[fmt.Sprintf("expression %s, match=true", operator)] = 400
		f[fmt.Sprintf("expression %s, match=false", operator)] = 400
		f[fmt.Sprintf("expression %s, malformed", operator)] = 100
	}
	for _, operator := range []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn} {
		f[fmt.Sprintf("field %s, match=true", operator)] = 500
		f[fmt.Sprintf("field %s, match=false", operator)] = 500
		f[fmt.Sprintf("field %s, malformed", operator)] = 100
	}
	f["expression Like, malformed"], f["field Exists, malformed"] = 100, 100
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute,
		corev1.TaintEffectPreferNoSchedule} {
		f[fmt.Sprintf("taint %s, run=true", effect)] = 500
	}
	f["taint NoSchedule, run=false"], f["taint NoExecute, run=false"] = 500, 500
	for _, operator := range []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists,
		corev1.TolerationOpLt, corev1.TolerationOpGt} {
		f[fmt.Sprintf("toleration %q, tolerates=true", operator)] = 500
		f[fmt.Sprintf("toleration %q, tolerates=false", operator)] = 500
	}
	f[`toleration "Like", tolerates=false`] = 500
	f[`toleration "Lt", tolerates=true`] = 150
	if !compareNumbers {
		delete(f, `toleration "Lt", tolerates=true`)
		delete(f, `toleration "Gt", tolerates=true`)
	}
	return f
}

type placementComparison struct {
	*testing.T
	reached reached
	matcher taints.Matcher
}

// compareSeed compares a template on some nodes, and then parts of them alone,
// which shows what became of each operator.
func (c *placementComparison) compareSeed(seed uint64) {
	d := throw(seed)
	template := d.template()
	placement := daemon.Compile(template, c.matcher)
	if placement.Problems() != nil {
		c.reached.count("template with problem")
	}
	for range nodesOfPlacement {
		node := d.node()
		verdict := c.compare(seed, placement, template, node)
		c.reached.count("pairs")
		c.countVerdict(verdict, node)
		if placement.Problems() != nil && (verdict.Reason == daemon.ReasonFits || verdict.Reason == daemon.ReasonTainted) {
			c.reached.count("problem next to a term that matches")
		}
	}
	for range 3 {
		c.compareTermsAlone(seed, d)
		c.compareTaintsAlone(seed, d)
	}
}

func (c *placementComparison) countVerdict(verdict daemon.Decision, node *corev1.Node) {
	switch {
	case verdict.ShouldRun:
		c.reached.count("run")
	case verdict.ShouldContinue:
		c.reached.count("keep only")
	default:
		c.reached.count("neither")
	}
	c.reached.count("reason %s", verdict.Reason)
	if node.Name == "" {
		c.reached.count("node without a name")
	}
}

// compareTermsAlone compares a term of one expression, and one of one field.
func (c *placementComparison) compareTermsAlone(seed uint64, d dice) {
	node := d.namedNode()
	node.Spec.Taints = nil
	expression := d.expression()
	if d.oneIn(2) { // they meet
		node.Labels = map[string]string{expression.Key: pick(d, append(expression.Values, "1", "7")...)}
	}
	c.compareTerm(seed, "expression", expression.Operator, node,
		corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expression}})
	field := d.field()
	c.compareTerm(seed, "field", field.Operator, node,
		corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{field}})
}

// compareTaintsAlone compares one taint without a toleration, and one with.
func (c *placementComparison) compareTaintsAlone(seed uint64, d dice) {
	node, template := d.namedNode(), &corev1.PodTemplateSpec{}
	node.Spec.Taints = []corev1.Taint{d.taint()}
	template.Spec.HostNetwork = d.oneIn(2)
	verdict := c.compare(seed, daemon.Compile(template, c.matcher), template, node)
	c.reached.count("taint %s, run=%v", node.Spec.Taints[0].Effect, verdict.ShouldRun)

	toleration := d.toleration()
	toleration.Key, toleration.Effect = pick(d, "zone", "zone", "", "disk"), corev1.TaintEffectNoSchedule
	node.Spec.Taints = []corev1.Taint{{
		Key: "zone", Value: pick(d, d.value(), toleration.Value, "1", "7"), Effect: corev1.TaintEffectNoSchedule,
	}}
	template.Spec.Tolerations = []corev1.Toleration{toleration}
	verdict = c.compare(seed, daemon.Compile(template, c.matcher), template, node)
	c.reached.count("toleration %q, tolerates=%v", toleration.Operator, verdict.ShouldRun)
}

func (c *placementComparison) compareTerm(seed uint64, what string, operator corev1.NodeSelectorOperator,
	node *corev1.Node, term corev1.NodeSelectorTerm) {
	template := &corev1.PodTemplateSpec{}
	template.Spec.Affinity = requiring(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	placement := daemon.Compile(template, c.matcher)
	verdict := c.compare(seed, placement, template, node)
	if placement.Problems() != nil {
		c.reached.count("%s %s, malformed", what, operator)
		return
	}
	c.reached.count("%s %s, match=%v", what, operator, verdict.ShouldRun)
}

// compare asks both sides about one pair. It does not use require.Equal on the
// good path, which is slow.
func (c *placementComparison) compare(seed uint64, placement *daemon.Placement, template *corev1.PodTemplateSpec,
	node *corev1.Node) daemon.Decision {
	verdict := placement.Place(node)
	run, keep := upstreamdaemon.NodeShouldRunDaemonPod(klog.New(nil), node,
		&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: *template}})
	if verdict.ShouldRun != run || verdict.ShouldContinue != keep {
		require.FailNowf(c, "different verdicts",
			"-args -seed=%d\nours %+v\nupstream: run=%v keep=%v\ntemplate %+v\nnode %q, labels %v, taints %v",
			seed, verdict, run, keep, template.Spec, node.Name, node.Labels, node.Spec.Taints)
	}
	return verdict
}
