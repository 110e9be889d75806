package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// dice makes nodes and templates from a few words, so that they often meet.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func some[T any](d dice, most int, one func() T) []T {
	var all []T
	for range d.IntN(most + 1) {
		all = append(all, one())
	}
	return all
}

func (d dice) key() string   { return pick(d, "zone", "disk", "gpu", "example.com/pool") }
func (d dice) value() string { return pick(d, "a", "b", "1", "7", "") }

func (d dice) node() *corev1.Node {
	node := &corev1.Node{}
	node.Name = pick(d, "n1", "n2", "")
	node.Labels = map[string]string{}
	for range d.IntN(4) {
		node.Labels[d.key()] = d.value()
	}
	if d.IntN(10) == 0 {
		node.Labels = nil
	}
	node.Spec.Taints = some(d, 3, func() corev1.Taint {
		return corev1.Taint{
			Key: pick(
				d,
				"zone",
				"disk",
				corev1.TaintNodeNotReady,
				corev1.TaintNodeUnschedulable,
				corev1.TaintNodeNetworkUnavailable,
			),
			Value: d.value(),
			Effect: pick(
				d,
				corev1.TaintEffectNoSchedule,
				corev1.TaintEffectNoExecute,
				corev1.TaintEffectPreferNoSchedule,
			),
		}
	})
	return node
}

func (d dice) values() []string { return some(d, 3, d.value) }

func (d dice) expression() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{
		Key: d.key(),
		Operator: pick(
			d,
			corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist,
			corev1.NodeSelectorOpGt,
			corev1.NodeSelectorOpLt,
			"Like",
		),
		Values: d.values(),
	}
	switch r.Operator {
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if d.IntN(5) > 0 {
			r.Values = []string{pick(d, "0", "3", "9", "-1")}
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if d.IntN(5) > 0 {
			r.Values = nil
		}
	}
	if d.IntN(30) == 0 {
		r.Key = "not a key"
	}
	return r
}

func (d dice) field() corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{
		Key: pick(d, "metadata.name", "metadata.name", "metadata.name", "spec.providerID"),
		Operator: pick(
			d,
			corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists,
		),
		Values: pick(d, []string{"n1"}, []string{"n2"}, []string{""}, []string{"n1", "n2"}, nil),
	}
}

func (d dice) template() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Spec.HostNetwork = d.IntN(2) == 0
	t.Spec.NodeName = pick(d, "", "", "", "n1")
	if d.IntN(4) == 0 {
		t.Spec.NodeSelector = map[string]string{d.key(): d.value()}
	}
	t.Spec.Tolerations = some(d, 2, func() corev1.Toleration {
		return corev1.Toleration{
			Key:      pick(d, "zone", "disk", "", corev1.TaintNodeNotReady),
			Operator: pick(d, corev1.TolerationOpExists, corev1.TolerationOpEqual, ""),
			Value:    d.value(),
			Effect:   pick(d, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		}
	})
	switch d.IntN(4) {
	case 0:
	case 1:
		t.Spec.Affinity = pick(
			d,
			&corev1.Affinity{},
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
		)
	default:
		t.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: some(d, 3, func() corev1.NodeSelectorTerm {
					return corev1.NodeSelectorTerm{
						MatchExpressions: some(d, 2, d.expression),
						MatchFields:      some(d, 1, d.field),
					}
				}),
			},
		}}
	}
	return t
}

// slow says with component-helpers what kube-controller-manager would say,
// reason and all.
func slow(template *corev1.PodTemplateSpec, node *corev1.Node) daemon.Decision {
	spec := &template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return daemon.Decision{Reason: daemon.ReasonOtherNode}
	}
	fits := func(spec corev1.PodSpec) bool {
		fits, _ := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}).Match(node)
		return fits
	}
	if !fits(corev1.PodSpec{NodeSelector: spec.NodeSelector}) {
		return daemon.Decision{Reason: daemon.ReasonNodeSelector}
	}
	if !fits(corev1.PodSpec{Affinity: spec.Affinity}) {
		return daemon.Decision{Reason: daemon.ReasonNodeAffinity}
	}
	untolerated := func(effects ...corev1.TaintEffect) *corev1.Taint {
		taint, found := corev1helpers.FindMatchingUntoleratedTaint(
			klog.Background(),
			node.Spec.Taints,
			daemon.Tolerations(spec),
			func(t *corev1.Taint) bool {
				return slices.Contains(effects, t.Effect)
			},
			false,
		)
		if !found {
			return nil
		}
		return &taint
	}
	if taint := untolerated(corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule); taint != nil {
		return daemon.Decision{
			ShouldContinue: untolerated(corev1.TaintEffectNoExecute) == nil,
			Reason:         daemon.ReasonTainted,
			Taint:          taint,
		}
	}
	return daemon.Decision{ShouldRun: true, ShouldContinue: true, Reason: daemon.ReasonFits}
}

// D1: the verdicts are those of component-helpers, over all operators and
// fields, also for what no API server lets in.
func TestD1PlacementAgainstComponentHelpers(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(sized(7000, 20_000)) {
		d := dice{rand.New(rand.NewPCG(seed, 0))}
		template := d.template()
		placement := daemon.Compile(template, taints.Matcher{})
		for range 5 {
			node := d.node()
			want, got := slow(template, node), placement.Place(node)
			require.Equal(
				t,
				want,
				got,
				"seed %d: template %+v, node %s %v %v",
				seed,
				template.Spec,
				node.Name,
				node.Labels,
				node.Spec.Taints,
			)
			reached[fmt.Sprintf("%s, keep=%v", got.Reason, got.ShouldContinue)]++
		}
		if placement.Problems() != nil {
			reached["problems"]++
		}
	}
	for _, outcome := range []string{
		"Fits, keep=true", "Tainted, keep=true", "Tainted, keep=false", "OtherNode, keep=false",
		"NodeSelector, keep=false", "NodeAffinity, keep=false", "problems",
	} {
		require.Greater(t, reached[outcome], 1000, "%s: %v", outcome, reached)
	}
}
