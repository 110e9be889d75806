package conformance

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentTemplate is a plain template of a daemon.
func agentTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "agent", Image: "registry.example/agent:v1", ImagePullPolicy: corev1.PullIfNotPresent,
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
			SchedulerName: corev1.DefaultSchedulerName, SecurityContext: &corev1.PodSecurityContext{},
			TerminationGracePeriodSeconds: new(int64(30)),
		},
	}
}

// revisionCorpus is templates as people write them, and odd ones, by what is
// odd.
func revisionCorpus() map[string]*corev1.PodTemplateSpec {
	all := map[string]*corev1.PodTemplateSpec{}
	for _, part := range []map[string]func(*corev1.PodTemplateSpec){
		metadataCorpus(), textCorpus(), numberCorpus(), emptyCorpus(), containerCorpus(), podCorpus(), volumeCorpus(),
	} {
		for name, change := range part {
			if all[name] != nil {
				panic("the corpus has two of the name " + name)
			}
			all[name] = agentTemplate()
			change(all[name])
		}
	}
	return all
}

type changes = map[string]func(*corev1.PodTemplateSpec)

func metadataCorpus() changes {
	created := metav1.Unix(1_700_000_000, 123_456_789)
	return changes{
		"plain":              func(*corev1.PodTemplateSpec) {},
		"nothing but labels": func(t *corev1.PodTemplateSpec) { t.Spec = corev1.PodSpec{} },
		"creationTimestamp":  func(t *corev1.PodTemplateSpec) { t.CreationTimestamp = created },
		"creationTimestamp zero, deletionTimestamp set": func(t *corev1.PodTemplateSpec) { t.DeletionTimestamp = &created },
		"restarted by kubectl": func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-11-22T12:00:00+01:00"}
		},
		"many annotations": func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{}
			for i := range 50 {
				t.Annotations[fmt.Sprintf("example.com/annotation-%d", i*37%50)] = strings.Repeat("x", i)
			}
		},
		"name, owner, finalizers, managed fields": func(t *corev1.PodTemplateSpec) {
			t.Name, t.GenerateName, t.Namespace, t.ResourceVersion = "name", "prefix-", "elsewhere", "42"
			t.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Thing", Name: "owner", UID: "uid", Controller: new(false)}}
			t.Finalizers = []string{"example.com/finalizer"}
			t.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &created,
				FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:containers":{}}}`),
			}}
		},
	}
}

func textCorpus() changes {
	text := func(s string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{s} }
	}
	return changes{
		"HTML":               text(`if (a < b && c > d) "quoted" 'single' </script>`),
		"umlauts and emoji":  text("Grüße 🚀 日本語 \u00a0"),
		"line separators":    text("a\u2028b\u2029c"),
		"control characters": text("\x00\x01\b\f\n\r\t\x1f\x7f"),
		"not UTF-8":          text("a\xff\xfeb\xc3("),
		"surrogate and BOM":  text("\ufeff\ufffd\U0010ffff"),
		"backslashes":        text(`C:\path\u0041 \\ \" /slash/`),
		"a long text":        text(strings.Repeat("0123456789", 10_000)),
		"a text of JSON":     text(`{"spec":{"template":{"$patch":"replace"}}}`),
		"odd keys of a map": func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"$patch": "delete", "<&>": "x", "": "empty", "ü": "1", "A": "2", "a": "3",
				"é": "4"}
		},
	}
}

func numberCorpus() changes {
	limits := func(quantities ...string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			list := corev1.ResourceList{}
			for i, q := range quantities {
				list[corev1.ResourceName(fmt.Sprintf("example.com/r%d", i))] = resource.MustParse(q)
			}
			t.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: list, Requests: list}
		}
	}
	return changes{
		"quantities": limits("0.5", "1e3", "1E3", "500m", "1.5Gi", "0", "-1", "100n", "1u", "12E",
			"1024Ki", "0.1", "1k"),
		"huge quantities": limits("9223372036854775807", "9223372036854775808", "1e30", "0.000000001",
			"123456789.123456789"),
		"quantity not in canonical form": limits("1000m", "1024", "0.50", "1000000"),
		"big integers": func(t *corev1.PodTemplateSpec) {
			t.Spec.TerminationGracePeriodSeconds = new(int64(math.MaxInt64))
			t.Spec.ActiveDeadlineSeconds = new(int64(1 << 53))
			t.Spec.SecurityContext.RunAsUser = new(int64(1<<53 + 1))
			t.Spec.Priority = new(int32(math.MinInt32))
		},
		"zeros behind pointers": func(t *corev1.PodTemplateSpec) {
			t.Spec.TerminationGracePeriodSeconds = new(int64(0))
			t.Spec.SecurityContext.RunAsUser, t.Spec.SecurityContext.RunAsNonRoot = new(int64(0)), new(false)
			t.Spec.AutomountServiceAccountToken, t.Spec.EnableServiceLinks = new(false), new(false)
		},
	}
}

func emptyCorpus() changes {
	return changes{
		"no containers: nil":   func(t *corev1.PodTemplateSpec) { t.Spec.Containers = nil },
		"no containers: empty": func(t *corev1.PodTemplateSpec) { t.Spec.Containers = []corev1.Container{} },
		"empty structs": func(t *corev1.PodTemplateSpec) {
			t.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{},
			}}
			t.Spec.Volumes = []corev1.Volume{{Name: "empty",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			t.Spec.Tolerations = []corev1.Toleration{{}}
			t.Spec.DNSConfig = &corev1.PodDNSConfig{}
		},
		"terms without anything": func(t *corev1.PodTemplateSpec) {
			t.Spec.Affinity = requiring(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}, {
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{}}},
			}}})
		},
	}
}
