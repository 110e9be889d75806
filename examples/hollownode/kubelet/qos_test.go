package kubelet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestQOSClassFollowsFromRequestsAndLimits(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	demand := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	full := demand(list("1", "1Gi"), list("1", "1Gi"))
	for _, test := range []struct {
		name  string
		pod   *corev1.ResourceRequirements
		each  []corev1.ResourceRequirements
		class corev1.PodQOSClass
	}{
		{"nothing", nil, []corev1.ResourceRequirements{{}}, corev1.PodQOSBestEffort},
		{"zero", nil, []corev1.ResourceRequirements{demand(list("0", ""), nil)}, corev1.PodQOSBestEffort},
		{"all", nil, []corev1.ResourceRequirements{full, full}, corev1.PodQOSGuaranteed},
		{"limits only", nil, []corev1.ResourceRequirements{demand(nil, list("1", "1Gi"))}, corev1.PodQOSGuaranteed},
		{"zero of a limit", nil, []corev1.ResourceRequirements{demand(list("0", "1Gi"), list("1", "1Gi"))},
			corev1.PodQOSBurstable},
		{"one of two", nil, []corev1.ResourceRequirements{full, {}}, corev1.PodQOSBurstable},
		{"less", nil, []corev1.ResourceRequirements{demand(list("1", "1Gi"), list("2", "1Gi"))}, corev1.PodQOSBurstable},
		{"cpu only", nil, []corev1.ResourceRequirements{demand(list("1", ""), list("1", ""))}, corev1.PodQOSBurstable},
		{"of the pod", &full, []corev1.ResourceRequirements{{}}, corev1.PodQOSGuaranteed},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Resources: test.pod}}
		for _, r := range test.each {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: r})
		}
		assert.Equal(t, test.class, qosClass(pod), test.name)
		pod.Status.QOSClass = "Known"
		assert.EqualValues(t, "Known", qosClass(pod), "the API server has set it")
	}
}
