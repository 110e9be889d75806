package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubelife/lifecycle/daemon"
)

// agents is a DaemonSet whose template says what pods may have.
func agents() *appsv1.DaemonSet {
	seconds := int64(300)
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "agents", UID: "7d1"},
	}
	set.Spec.Template = *template(affinity(corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{labelled("zone", corev1.NodeSelectorOpIn, "a")},
	}))
	set.Spec.Template.ObjectMeta = metav1.ObjectMeta{
		Name:        "ignored",
		Labels:      map[string]string{"app": "agent"},
		Annotations: map[string]string{"note": "x"},
		Finalizers:  []string{"example.com/hold"},
	}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Args: []string{"--quiet"}}}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{
		Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}}
	set.Spec.Template.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution =
		[]corev1.PreferredSchedulingTerm{{Weight: 1}}
	return set
}

// D1: the pod of a node is that of the template, on the node, and says nothing
// that only the API server knows.
func TestD1PodOnANodeIsThatOfTheTemplate(t *testing.T) {
	set := agents()
	pod := daemon.PodOn(set, node("n1"))

	yes := true
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "monitoring",
			Labels:      map[string]string{"app": "agent"},
			Annotations: map[string]string{"note": "x"},
			Finalizers:  []string{"example.com/hold"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agents", UID: "7d1",
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	want.Spec.NodeName = "n1"
	want.Spec.Tolerations = daemon.Tolerations(&set.Spec.Template.Spec)
	want.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{
				labelled("metadata.name", corev1.NodeSelectorOpIn, "n1"),
			},
		}},
	}
	require.Equal(t, want, pod)
	require.Nil(t, pod.Spec.Tolerations[0].TolerationSeconds, "it stays on a node that is not ready")
	fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node("n1"))
	require.NoError(t, err)
	require.True(t, fits)

	pod.Labels["app"], pod.Annotations["note"], pod.Finalizers[0] = "y", "y", "y"
	pod.Spec.Containers[0].Args[0] = "y"
	pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight = 9
	require.Equal(t, agents(), set, "the set is not changed, nor by a change of the pod")
}

func TestTargetNodeIsWhereAPodIsOrIsToBe(t *testing.T) {
	field := func(key string, operator corev1.NodeSelectorOperator,
		values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}},
		}
	}
	label := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"label"}},
	}}
	named := field("metadata.name", corev1.NodeSelectorOpIn, "n")
	for _, c := range []struct {
		name, scheduled string
		terms           []corev1.NodeSelectorTerm
		want            string
	}{
		{"for no node", "", nil, ""},
		{"scheduled", "here", nil, "here"},
		{"scheduled elsewhere", "here", []corev1.NodeSelectorTerm{named}, "here"},
		{"to be scheduled", "", []corev1.NodeSelectorTerm{named}, "n"},
		{"not in", "", []corev1.NodeSelectorTerm{field("metadata.name", corev1.NodeSelectorOpNotIn, "n")},
			""},
		{"another field", "", []corev1.NodeSelectorTerm{field("metadata.namespace",
			corev1.NodeSelectorOpIn, "n")}, ""},
		{"two nodes", "", []corev1.NodeSelectorTerm{field("metadata.name", corev1.NodeSelectorOpIn, "n",
			"m")}, ""},
		{"no value", "", []corev1.NodeSelectorTerm{field("metadata.name", corev1.NodeSelectorOpIn)}, ""},
		{"two nodes, then one", "", []corev1.NodeSelectorTerm{field("metadata.name",
			corev1.NodeSelectorOpIn, "n", "m"), named}, ""},
		{"a label of that name", "", []corev1.NodeSelectorTerm{label}, ""},
		{"in a later term", "", []corev1.NodeSelectorTerm{label, named}, "n"},
		{"next to another field", "", []corev1.NodeSelectorTerm{{MatchFields: append(
			field("metadata.name", corev1.NodeSelectorOpNotIn, "m").MatchFields, named.MatchFields...)}},
			"n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: c.scheduled}}
			require.Equal(t, c.scheduled, daemon.TargetNode(pod))
			pod.Spec.Affinity = &corev1.Affinity{}
			require.Equal(t, c.scheduled, daemon.TargetNode(pod))
			pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
			require.Equal(t, c.scheduled, daemon.TargetNode(pod))
			of := pod.Spec.Affinity.NodeAffinity
			of.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
				NodeSelectorTerms: c.terms,
			}
			require.Equal(t, c.want, daemon.TargetNode(pod))
			require.Zero(t, testing.AllocsPerRun(100, func() { daemon.TargetNode(pod) }))
		})
	}
}
