package daemon_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

func template(options ...func(*corev1.PodSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	for _, option := range options {
		option(&t.Spec)
	}
	return t
}

func affinity(terms ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

func labelled(
	key string,
	operator corev1.NodeSelectorOperator,
	values ...string,
) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func node(name string, taint ...corev1.Taint) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.Labels = name, map[string]string{"zone": "a", "cores": "8"}
	n.Spec.Taints = taint
	return n
}

func noExecute(key string) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
}

func noSchedule(key string) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
}

// D1: nodes that are ill, under pressure or cordoned keep and get their daemon
// pods.
func TestD1DaemonPodsTolerateWhatHappensToNodes(t *testing.T) {
	placement := daemon.Compile(template(), taints.Matcher{})
	ill := node(
		"n1",
		noExecute(corev1.TaintNodeNotReady),
		noExecute(corev1.TaintNodeUnreachable),
		noSchedule(corev1.TaintNodeDiskPressure),
		noSchedule(
			corev1.TaintNodeMemoryPressure,
		),
		noSchedule(corev1.TaintNodePIDPressure),
		noSchedule(corev1.TaintNodeUnschedulable),
	)
	require.Equal(
		t,
		daemon.Decision{ShouldRun: true, ShouldContinue: true, Reason: daemon.ReasonFits},
		placement.Place(ill),
	)

	without := node("n1", noSchedule(corev1.TaintNodeNetworkUnavailable))
	require.False(t, placement.Place(without).ShouldRun)
	host := daemon.Compile(
		template(func(s *corev1.PodSpec) { s.HostNetwork = true }),
		taints.Matcher{},
	)
	require.True(t, host.Place(without).ShouldRun, "they may be what sets it up")
}

// D1: what a pod may keep it need not get.
func TestD1NoScheduleKeepsWhatIsThere(t *testing.T) {
	placement := daemon.Compile(template(), taints.Matcher{})
	cordoned := placement.Place(node("n1", noSchedule("maintenance")))
	require.Equal(t, "maintenance", cordoned.Taint.Key)
	require.False(t, cordoned.ShouldRun)
	require.True(t, cordoned.ShouldContinue)

	drained := placement.Place(node("n1", noSchedule("maintenance"), noExecute("gone")))
	require.Equal(t, "maintenance", drained.Taint.Key, "the first reason against")
	require.False(t, drained.ShouldRun || drained.ShouldContinue)
	require.True(
		t,
		placement.Place(
			node("n1", corev1.Taint{Key: "busy", Effect: corev1.TaintEffectPreferNoSchedule}),
		).ShouldRun,
	)
}

// A toleration that ends gives way to the one that daemon pods get.
func TestD1AddedTolerationsWin(t *testing.T) {
	seconds := int64(300)
	spec := template(func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{
			{Key: "mine", Operator: corev1.TolerationOpExists},
			{
				Key:               corev1.TaintNodeNotReady,
				Operator:          corev1.TolerationOpExists,
				Effect:            corev1.TaintEffectNoExecute,
				TolerationSeconds: &seconds,
			},
		}
	}).Spec
	all := daemon.Tolerations(&spec)
	require.Len(t, all, 7)
	require.Equal(t, "mine", all[0].Key)
	require.Nil(t, all[1].TolerationSeconds)
	require.Equal(t, &seconds, spec.Tolerations[1].TolerationSeconds, "the template is not changed")
}

// D1: a node that an autoscaler would make has labels and taints, but no name
// yet.
func TestD1NodeToComeHasNoName(t *testing.T) {
	placement := daemon.Compile(template(affinity(corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			labelled("zone", corev1.NodeSelectorOpIn, "a"),
		},
		MatchFields: []corev1.NodeSelectorRequirement{
			labelled("metadata.name", corev1.NodeSelectorOpIn, "n1"),
		},
	})), taints.Matcher{})
	require.True(t, placement.Place(node("n1")).ShouldRun)
	require.False(t, placement.Place(node("n2")).ShouldRun)
	require.True(t, placement.Place(node("")).ShouldRun, "as in kube-controller-manager")
}

// A term that is wrong matches nothing, the others count, and what is wrong is
// said with its place.
func TestD1TermThatIsWrongIsNamed(t *testing.T) {
	placement := daemon.Compile(template(affinity(
		corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				labelled("cores", corev1.NodeSelectorOpGt, "many"),
			},
		},
		corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{
				labelled("metadata.name", corev1.NodeSelectorOpExists),
			},
		},
		corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{labelled("cores", "Near", "8")},
		},
		corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				labelled("cores", corev1.NodeSelectorOpGt, "4"),
			},
		},
	)), taints.Matcher{})
	require.ErrorContains(
		t,
		placement.Problems(),
		"nodeSelectorTerms[0] matches no node: matchExpressions[0]",
	)
	require.ErrorContains(
		t,
		placement.Problems(),
		`nodeSelectorTerms[1] matches no node: matchFields[0]: operator "Exists", want In or NotIn`,
	)
	require.ErrorContains(
		t,
		placement.Problems(),
		`nodeSelectorTerms[2] matches no node: matchExpressions[0]: unknown operator "Near"`,
	)
	require.NotErrorIs(t, placement.Problems(), daemon.ErrNoValidTerm)
	require.True(t, placement.Place(node("n1")).ShouldRun)
	require.NoError(t, daemon.Compile(template(), taints.Matcher{}).Problems())
}

// D1: that no term is valid is another thing than that none matches.
func TestD1NoValidTermIsSaid(t *testing.T) {
	invalid := corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{labelled("cores", corev1.NodeSelectorOpGt, "many")},
	}
	for _, terms := range [][]corev1.NodeSelectorTerm{{invalid}, {invalid, {}}, {{}, invalid, invalid}} {
		placement := daemon.Compile(template(affinity(terms...)), taints.Matcher{})
		require.ErrorIs(t, placement.Problems(), daemon.ErrNoValidTerm)
		require.False(t, placement.Place(node("n1")).ShouldContinue)
	}
	empty := daemon.Compile(template(affinity(corev1.NodeSelectorTerm{})), taints.Matcher{})
	require.NoError(t, empty.Problems(), "it matches no node, and is valid")
	require.False(t, empty.Place(node("n1")).ShouldContinue)
}

// crowd is a template with something of everything, and nodes of all kinds.
func crowd() (*daemon.Placement, []*corev1.Node) {
	placement := daemon.Compile(template(
		func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": "a"} },
		func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		},
		affinity(
			corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{
					labelled("metadata.name", corev1.NodeSelectorOpIn, "n-0"),
				},
			},
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				labelled("zone", corev1.NodeSelectorOpIn, "b", "a"),
				labelled("cores", corev1.NodeSelectorOpGt, "4"),
				labelled("virtual", corev1.NodeSelectorOpDoesNotExist),
			}},
		),
	), taints.Matcher{})
	var nodes []*corev1.Node
	for i := range 64 {
		n := node(fmt.Sprintf("n-%d", i), noExecute("gpu"), noSchedule(corev1.TaintNodeUnschedulable))
		if i%8 == 7 {
			n.Spec.Taints = append(n.Spec.Taints, noSchedule("maintenance"))
		}
		nodes = append(nodes, n)
	}
	return placement, nodes
}

// D1: asking allocates nothing.
func TestD1PlaceAllocatesNothing(t *testing.T) {
	placement, nodes := crowd()
	i := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		placement.Place(nodes[i%len(nodes)])
		i++
	}))
}

func BenchmarkPlace(b *testing.B) {
	placement, nodes := crowd()
	i, run := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		if placement.Place(nodes[i%len(nodes)]).ShouldRun {
			run++
		}
		i++
	}
	if i > 64 && (run == 0 || run == i) {
		b.Fatal(run)
	}
}
