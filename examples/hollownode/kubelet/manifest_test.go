package kubelet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

func TestWrongManifestsAreRefused(t *testing.T) {
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{VolumeSource: source}} }
	}
	env := func(e corev1.EnvVarSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "E", ValueFrom: &e}} }
	}
	for says, change := range map[string]func(*corev1.Pod){
		`metadata.name is "A", want the name of a pod`: func(p *corev1.Pod) { p.Name = "A" },
		`metadata.namespace is "a.b", want`:            func(p *corev1.Pod) { p.Namespace = "a.b" },
		`metadata.uid is "1", want none`:               func(p *corev1.Pod) { p.UID = "1" },
		"want a static pod and not its mirror": func(p *corev1.Pod) {
			p.Annotations[corev1.MirrorPodAnnotationKey] = ""
		},
		"spec.containers is empty":          func(p *corev1.Pod) { p.Spec.Containers = nil },
		`the name of a container is ""`:     func(p *corev1.Pod) { p.Spec.Containers[0].Name = "" },
		`container "c" has no image`:        func(p *corev1.Pod) { p.Spec.Containers[0].Image = "" },
		`two containers have the name "c"`:  func(p *corev1.Pod) { p.Spec.InitContainers = p.Spec.Containers },
		"a ServiceAccount, which no static": func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" },
		"a ResourceClaim, which no static pod": func(p *corev1.Pod) {
			p.Spec.ResourceClaims = make([]corev1.PodResourceClaim, 1)
		},
		"a Secret, which no static pod may": volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}),
		"a ConfigMap, which no static pod":  env(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{}}),
		"a PersistentVolumeClaim, which no": volume(corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}),
		"a CSIDriver, which no static pod": volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}),
		"Endpoints, which no static pod":   volume(corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{}}),
		"a ClusterTrustBundle, which no": volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{DownwardAPI: &corev1.DownwardAPIProjection{}}, {ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}},
			}}}),
	} {
		t.Run(says, func(t *testing.T) {
			pod := staticPod("proxy")
			require.NoError(t, ValidateStaticPod(pod))
			change(pod)
			require.ErrorContains(t, ValidateStaticPod(pod), says)
			_, err := NewFleet(FleetConfig{Runtime: &cri.Fake{}, StaticPods: []*corev1.Pod{pod}}, start)
			require.ErrorIs(t, err, ErrInvalidConfig)
			require.ErrorContains(t, err, "config field StaticPods: static pod 0: ")
		})
	}
	require.ErrorContains(t, ValidateStaticPod(nil), "nil")
	w := newStaticWorld(t, staticPod("proxy"))
	err := w.fleet.SetStaticPods(w.now, []*corev1.Pod{staticPod("other"), staticPod("other")})
	require.ErrorContains(t, err, "static pod 1: default/other is there twice")
	assert.Equal(t, "proxy", w.fleet.manifests[0].pod.Name, "nothing has changed")
}

func TestStaticPodsGetTheDefaultsOfTheAPI(t *testing.T) {
	pod := staticPod("proxy")
	pod.Spec.HostNetwork = true
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: "k", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](5)},
	}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 82}}
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
		"cpu": resource.MustParse("1"), "memory": resource.MustParse("2"),
	}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("1")}
	given := pod.DeepCopy()
	got := withDefaults(pod)
	assert.Equal(t, given, pod, "the manifest is only read")
	assert.Equal(t, "default", got.Namespace)
	assert.Equal(t, corev1.RestartPolicyAlways, got.Spec.RestartPolicy)
	assert.EqualValues(t, 30, *got.Spec.TerminationGracePeriodSeconds)
	assert.Equal(t, []corev1.Toleration{
		{Key: "k", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}, got.Spec.Tolerations)
	c := &got.Spec.Containers[0]
	assert.EqualValues(t, 80, c.Ports[0].HostPort)
	assert.EqualValues(t, 82, c.Ports[1].HostPort)
	assert.Equal(t, "1", c.Resources.Requests.Cpu().String())
	assert.Equal(t, "1", c.Resources.Requests.Memory().String())
	for image, want := range map[string]corev1.PullPolicy{
		"a": corev1.PullAlways, "r:5000/a": corev1.PullAlways, "r:5000/a:latest": corev1.PullAlways,
		"r:5000/a:1": corev1.PullIfNotPresent, "a@sha256:0": corev1.PullIfNotPresent,
	} {
		pod.Spec.Containers[0].Image = image
		assert.Equal(t, want, withDefaults(pod).Spec.Containers[0].ImagePullPolicy, image)
	}
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
	assert.Equal(t, corev1.PullNever, withDefaults(pod).Spec.Containers[0].ImagePullPolicy)
}
