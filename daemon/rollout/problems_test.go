package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/taints"
)

// anyOf is a template whose pods belong where one of some expressions matches.
func anyOf(expressions ...corev1.NodeSelectorRequirement) *corev1.PodTemplateSpec {
	terms := make([]corev1.NodeSelectorTerm, len(expressions))
	for i := range expressions {
		terms[i].MatchExpressions = expressions[i : i+1]
	}
	return withTerms(terms...)
}

// withTerms is a template with a required node affinity.
func withTerms(terms ...corev1.NodeSelectorTerm) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		},
	}}}
}

func labelled(
	key string, operator corev1.NodeSelectorOperator, values ...string,
) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func (s *set) labelled(name string, labels map[string]string) *set {
	s.ObserveNode(s.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	return s
}

// D1: a term that cannot be understood matches no node, and the others count.
// kube-apiserver v1.37.1 lets `Gt ["many"]` in.
func TestD1TermThatCannotBeUnderstoodLeavesTheOthers(t *testing.T) {
	bad := labelled("cores", corev1.NodeSelectorOpGt, "many")
	good := labelled("zone", corev1.NodeSelectorOpIn, "a")
	s := newSet(t, func(c *rollout.Config) { c.Spec.Template = anyOf(bad, good) })
	s.labelled("in", map[string]string{"zone": "a"}).labelled("out", map[string]string{"cores": "8"})
	s.want("create on in: Missing").want("")
	require.ErrorContains(
		t,
		s.Problems(),
		"Template: nodeSelectorTerms[0] matches no node: matchExpressions[0]",
	)
	require.ErrorIs(t, s.Problems(), rollout.ErrInvalidSpec)
	require.NoError(t, s.spec.Validate())
	require.NoError(t, s.Stopped())

	s.spec.Template = anyOf(good)
	s.template("new")
	require.NoError(t, s.Problems())
}

// D1: when no term can be understood, where pods belong is not known. Upstream
// takes it for nowhere, and deletes all pods.
func TestD1TemplateOfWhichNoTermCanBeUnderstoodIsRefused(t *testing.T) {
	spec := newSet(t).spec
	spec.Template = anyOf(
		labelled("cores", corev1.NodeSelectorOpGt, "many"),
		labelled("cores", "Near", "8"),
	)
	err := spec.Validate()
	require.ErrorIs(t, err, rollout.ErrInvalidSpec)
	require.ErrorContains(t, err, "Template: nodeSelectorTerms[0] matches no node")
	require.ErrorContains(t, err, "nodeSelectorTerms[1] matches no node")
	require.False(t, daemon.Compile(spec.Template, taints.Matcher{}).Place(&corev1.Node{}).ShouldContinue)

	spec.Template = withTerms(corev1.NodeSelectorTerm{}) // which is understood, and matches none
	require.NoError(t, spec.Validate())
	require.NoError(t, spec.Problems())
}

// withPort is a template that asks for a port of its node.
func withPort() *corev1.PodTemplateSpec {
	port := corev1.ContainerPort{HostPort: 80}
	return &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{port}}},
		},
	}
}

// D5: an invalid rollout stops the rollout, and never the management of pods.
func TestD5InvalidRolloutStopsNothingButTheRollout(t *testing.T) {
	for want, change := range map[string]func(*rollout.Spec){
		"container web asks for port 80": func(s *rollout.Spec) {
			s.Template, s.Strategy.MaxSurge = withPort(), intstr.FromString("1%")
		},
		`Strategy.MaxUnavailable is "half"`: func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable = intstr.FromString("half")
		},
		`Strategy.MaxUnavailable is "-5%"`: func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable = intstr.FromString("-5%")
		},
		`Strategy.MaxSurge is "-1", want zero`: func(s *rollout.Spec) {
			s.Strategy.MaxSurge = intstr.FromInt32(-1)
		},
		`Strategy.Partition is "3.5%", want a number`: func(s *rollout.Spec) {
			s.Strategy.Partition = intstr.FromString("3.5%")
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := newSet(t).nodes("failed", "missing", "old", "unready").running("old").tainted("out")
			s.pod("failed-1", "failed", "old", phase(corev1.PodFailed)).
				pod("unready-1", "unready", "old", unready)
			s.unfit("out").running("out")
			change(&s.spec)
			s.template("new")
			s.want("create on missing: Missing", "delete failed-1: PodFailed", "delete out-1: Misscheduled")
			s.want("create on failed: Missing").
				want("").
				wantWait("old", rollout.WaitInvalid).
				wantWait("unready", rollout.WaitInvalid)
			require.ErrorIs(t, s.Problems(), rollout.ErrInvalidSpec)
			require.ErrorContains(t, s.Problems(), want)
			require.ErrorContains(t, s.Stopped(), want)
			require.ErrorIs(t, s.spec.Validate(), rollout.ErrInvalidSpec)
			require.ErrorContains(t, s.spec.Validate(), want)
			_, err := rollout.NewPlanner(rollout.Config{Spec: s.spec}, start)
			require.NoError(t, err)

			s.rollout(func(r *rollout.Strategy) { *r = rollout.Strategy{OnDelete: true} }).
				wantWait("old", rollout.WaitOnDelete)
			s.rollout(func(r *rollout.Strategy) { *r = rollout.Strategy{MaxUnavailable: intstr.FromInt32(9)} })
			require.NoError(t, s.Problems())
			require.NoError(t, s.Stopped())
			s.want("delete unready-1: OutdatedUnavailable", "delete old-1: Outdated")
		})
	}
}

// D5: a rollout that becomes invalid while two pods are on a node keeps the one
// that works.
func TestD5InvalidRolloutKeepsThePodThatWorks(t *testing.T) {
	s := newSet(t).nodes("a").running("a").rollout(surge(1)).template("new")
	s.want("create on a: Surging").change("a-new-2", unscheduled)
	s.rollout(func(r *rollout.Strategy) { r.MaxSurge = intstr.FromString("some") })
	s.want("delete a-new-2: Duplicate").want("").wantWait("a", rollout.WaitInvalid)
}

// D5: after a spec that was refused nothing is made of the former one, or
// deleted for it.
func TestD5AfterARefusedSpecNothingIsMadeOfTheFormerOne(t *testing.T) {
	s := newSet(
		t,
	).nodes("missing", "failed", "old").
		running("old").
		pod("failed-1", "failed", "old", phase(corev1.PodFailed))
	s.unfit("out").running("out").template("new")
	refused := s.spec
	refused.Template = anyOf(labelled("cores", corev1.NodeSelectorOpGt, "many"))
	require.ErrorIs(t, s.SetSpec(s.now, refused), rollout.ErrInvalidSpec)
	require.ErrorContains(t, s.Problems(), "nodeSelectorTerms[0] matches no node")
	require.ErrorIs(t, s.Stopped(), rollout.ErrInvalidSpec)
	s.want("")
	invalid := s.spec
	invalid.Strategy.MaxUnavailable = intstr.FromInt32(-1)
	require.NoError(t, s.SetSpec(s.now, invalid))
	require.ErrorIs(t, s.SetSpec(s.now, refused), rollout.ErrInvalidSpec)
	require.NotContains(t, s.Stopped().Error(), "MaxUnavailable", "of the former spec")
	for _, node := range []string{"missing", "failed", "old", "out"} {
		s.wantWait(node, rollout.WaitInvalid)
	}
	require.NoError(t, s.SetSpec(s.now, s.spec)) // the former one again
	require.NoError(t, s.Problems())
	s.want("create on missing: Missing", "delete failed-1: PodFailed", "delete out-1: Misscheduled")
}
