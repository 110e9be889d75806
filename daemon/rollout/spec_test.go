package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func TestSpecOfADaemonSet(t *testing.T) {
	two, third := intstr.FromInt32(2), intstr.FromString("30%")
	set := &appsv1.DaemonSet{}
	set.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "7"}
	set.Spec.MinReadySeconds = 5
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &two, MaxSurge: &third},
	}
	require.Equal(t, rollout.Spec{
		Template: &set.Spec.Template, Revision: "h", TemplateGeneration: "7", MinReady: 5 * time.Second,
		Strategy: rollout.Strategy{MaxUnavailable: two, MaxSurge: third},
	}, rollout.SpecOf(set, "h"))

	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type: appsv1.OnDeleteDaemonSetStrategyType,
	}
	set.Annotations[appsv1.DeprecatedTemplateGeneration] = "seven"
	require.Equal(t, rollout.Spec{
		Template: &set.Spec.Template, Revision: "h", MinReady: 5 * time.Second,
		Strategy: rollout.Strategy{OnDelete: true},
	}, rollout.SpecOf(set, "h"))
}

func TestPodOfTheDeprecatedGenerationIsUpToDate(t *testing.T) {
	s := newSet(t).nodes("a").running("a")
	s.spec.TemplateGeneration = "7"
	s.template("new").want("delete a-1: Outdated").want("create on a: Missing").gone("a-new-2")
	s.pod("x", "a", "old", available,
		func(pod *corev1.Pod) { pod.Labels["pod-template-generation"] = "7" }).
		want("")
	require.Equal(t, 1, s.Status().Updated)
}

func TestSpecWithFaultsIsRefusedAndChangesNothing(t *testing.T) {
	for want, change := range map[string]func(*rollout.Spec){
		"Spec.Template is nil":   func(s *rollout.Spec) { s.Template = nil },
		"Spec.Revision is empty": func(s *rollout.Spec) { s.Revision = "" },
		"Spec.MinReady is -1s":   func(s *rollout.Spec) { s.MinReady = -time.Second },
	} {
		s := newSet(t).nodes("a").running("a")
		spec := s.spec
		spec.Revision = "new"
		change(&spec)
		err := s.SetSpec(s.now, spec)
		require.ErrorIs(t, err, rollout.ErrInvalidSpec)
		require.ErrorContains(t, err, want)
		s.want("")
		_, err = rollout.NewPlanner(rollout.Config{Spec: spec}, start)
		require.ErrorContains(t, err, want)
	}
	_, err := rollout.NewPlanner(
		rollout.Config{Spec: newSet(t).spec, Burst: -1, ExpectationTimeout: -time.Second},
		start,
	)
	require.ErrorIs(t, err, rollout.ErrInvalidConfig)
	require.ErrorContains(t, err, "Burst is -1, want zero or more")
	require.ErrorContains(t, err, "ExpectationTimeout is -1s, want zero or more")
}

// #106417.
func TestSurgeWithAPortOfTheNodeIsAProblemWhereverItComesFrom(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	web := corev1.Container{Name: "web", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}
	for name, test := range map[string]struct {
		spec    corev1.PodSpec
		problem bool
	}{
		"none": {corev1.PodSpec{Containers: []corev1.Container{web}}, false},
		"all ports are the node's": {corev1.PodSpec{HostNetwork: true,
			Containers: []corev1.Container{web}}, true},
		"sidecar": {corev1.PodSpec{HostNetwork: true,
			InitContainers: []corev1.Container{{RestartPolicy: &always, Ports: web.Ports}}}, true},
		"init container, gone by then": {corev1.PodSpec{HostNetwork: true,
			InitContainers: []corev1.Container{web}}, false},
		"host network without any port": {corev1.PodSpec{HostNetwork: true}, false},
	} {
		spec := newSet(t).spec
		spec.Template = &corev1.PodTemplateSpec{Spec: test.spec}
		spec.Strategy.MaxSurge = intstr.FromInt32(1)
		if err := spec.Problems(); test.problem {
			require.ErrorIs(t, err, rollout.ErrSurgeHostPort, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

// D3: a strategy of a type that is not known is a rolling update.
func TestD3StrategyOfUnknownTypeRollsOut(t *testing.T) {
	set := &appsv1.DaemonSet{}
	set.Spec.UpdateStrategy.Type = "Sometimes"
	s := newSet(t).nodes("a").running("a")
	s.spec.Strategy = rollout.SpecOf(set, "new").Strategy
	s.template("new").want("delete a-1: Outdated")
}
