package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// agents is the set that the pods of these tests are made for.
func agents() ownership.Owner {
	return rollout.OwnerOf(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "monitoring", Name: "agents", UID: "7b1e4a52-5d4f-4f5a-9b0e-3c3f6d0f8a11",
	}})
}

func creationOn(node string) rollout.Creation {
	return rollout.Creation{Node: node, Revision: "5f6d8c7b9", Reason: rollout.StepMissing}
}

// everything is a template with a value in each field that NewPod touches, and
// in those next to them.
func everything() *corev1.PodTemplateSpec {
	seconds := int64(30)
	zone := corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "zone", Operator: corev1.NodeSelectorOpExists},
		},
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name: "ignored", GenerateName: "ignored-",
			Labels: map[string]string{
				"app":                      "agent",
				"controller-revision-hash": "older",
				"pod-template-generation":  "3",
			},
			Annotations: map[string]string{"note": "x"},
			Finalizers:  []string{"example.com/hold"},
		},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "agent", Image: "agent:1", Args: []string{"-v"}}},
			NodeSelector: map[string]string{"os": "linux"},
			Tolerations: []corev1.Toleration{
				{
					Key:               "own",
					Operator:          corev1.TolerationOpExists,
					Effect:            corev1.TaintEffectNoExecute,
					TolerationSeconds: &seconds,
				},
				{
					Key:               corev1.TaintNodeNotReady,
					Operator:          corev1.TolerationOpExists,
					Effect:            corev1.TaintEffectNoExecute,
					TolerationSeconds: &seconds,
				},
			},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{zone, zone},
					},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
						{Weight: 1, Preference: zone},
					},
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{TopologyKey: "rack"},
					},
				},
			},
		},
	}
}

func specWith(template *corev1.PodTemplateSpec) *rollout.Spec {
	return &rollout.Spec{Template: template, Revision: "5f6d8c7b9"}
}

func onlyNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
		},
	}}}
}

func newPod(t *testing.T, spec *rollout.Spec, creation rollout.Creation) *corev1.Pod {
	t.Helper()
	pod, err := rollout.NewPod(agents(), spec, creation)
	require.NoError(t, err)
	return pod
}

func TestD4APodIsWhatTheTemplateSaysForOneNode(t *testing.T) {
	spec := specWith(everything())
	spec.TemplateGeneration = "7"
	pod := newPod(t, spec, creationOn("n1"))

	yes := true
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: "monitoring",
			Labels: map[string]string{
				"app":                      "agent",
				"controller-revision-hash": "5f6d8c7b9",
				"pod-template-generation":  "7",
			},
			Annotations: map[string]string{"note": "x"},
			Finalizers:  []string{"example.com/hold"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agents", UID: agents().Object.GetUID(),
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: everything().Spec,
	}
	want.Spec.Tolerations = daemon.Tolerations(&want.Spec)
	want.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = onlyNode("n1")
	require.Equal(t, want, pod)
	require.Nil(
		t,
		pod.Spec.Tolerations[1].TolerationSeconds,
		"a daemon pod stays on a node that is not ready",
	)
	require.Equal(t, "n1", daemon.TargetNode(pod))
}

func TestD4ABareTemplateIsBoundToItsNode(t *testing.T) {
	weight := []corev1.PreferredSchedulingTerm{{Weight: 1}}
	for _, c := range []struct {
		name           string
		affinity, want *corev1.Affinity
	}{
		{"no affinity", nil,
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: onlyNode("n"),
			}}},
		{"no node affinity", &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}},
			&corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{},
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: onlyNode("n"),
				},
			}},
		{"nothing required",
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: weight,
			}},
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: weight,
				RequiredDuringSchedulingIgnoredDuringExecution:  onlyNode("n"),
			}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: c.affinity}}
			pod := newPod(t, specWith(template), creationOn("n"))
			require.Equal(t, c.want, pod.Spec.Affinity)
			require.Equal(t, map[string]string{"controller-revision-hash": "5f6d8c7b9"}, pod.Labels)
		})
	}
}

func TestD4AnyKindCanOwnDaemonPods(t *testing.T) {
	owner := ownership.Owner{
		Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "wide", UID: "u"}},
		Kind:   schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "NodeAgent"},
	}
	pod, err := rollout.NewPod(owner, specWith(everything()), creationOn("n"))
	require.NoError(t, err)
	require.Empty(t, pod.Namespace, "the client's, as the owner has none")
	require.Equal(t, "example.com/v2", pod.OwnerReferences[0].APIVersion)
	require.Equal(t, "NodeAgent", pod.OwnerReferences[0].Kind)
}

func TestD4WhatAPodLacksIsSaid(t *testing.T) {
	for _, c := range []struct {
		says  string
		spoil func(*ownership.Owner, *rollout.Spec, *rollout.Creation)
	}{
		{"the owner has no Object", func(o *ownership.Owner, _ *rollout.Spec,
			_ *rollout.Creation) {
			o.Object = nil
		}},
		{`name "" and UID "u"`, func(o *ownership.Owner, _ *rollout.Spec,
			_ *rollout.Creation) {
			o.Object = &metav1.ObjectMeta{UID: "u"}
		}},
		{`name "a" and UID ""`, func(o *ownership.Owner, _ *rollout.Spec,
			_ *rollout.Creation) {
			o.Object = &metav1.ObjectMeta{Name: "a"}
		}},
		{"want version and kind", func(o *ownership.Owner, _ *rollout.Spec,
			_ *rollout.Creation) {
			o.Kind.Version = ""
		}},
		{"want version and kind", func(o *ownership.Owner, _ *rollout.Spec,
			_ *rollout.Creation) {
			o.Kind.Kind = ""
		}},
		{"no Template", func(_ *ownership.Owner, s *rollout.Spec,
			_ *rollout.Creation) {
			s.Template = nil
		}},
		{"for node other only", func(_ *ownership.Owner, s *rollout.Spec,
			_ *rollout.Creation) {
			s.Template.Spec.NodeName = "other"
		}},
		{"no Revision", func(_ *ownership.Owner, s *rollout.Spec, c *rollout.Creation) {
			s.Revision,
				c.Revision = "", ""
		}},
		{`planned for revision "old", and the spec is "5f6d8c7b9"`, func(_ *ownership.Owner,
			_ *rollout.Spec, c *rollout.Creation) {
			c.Revision = "old"
		}},
		{"no Node", func(_ *ownership.Owner, _ *rollout.Spec, c *rollout.Creation) { c.Node = "" }},
	} {
		t.Run(c.says, func(t *testing.T) {
			owner, spec, creation := agents(), specWith(everything()), creationOn("n")
			c.spoil(&owner, spec, &creation)
			pod, err := rollout.NewPod(owner, spec, creation)
			require.ErrorContains(t, err, c.says)
			require.Nil(t, pod)
		})
	}
}

func TestD4PodsAreDeepCopiesOfTheTemplate(t *testing.T) {
	spec := specWith(everything())
	for range 2 {
		pod := newPod(t, spec, creationOn("n"))
		require.Equal(t, everything(), spec.Template, "making a pod changes nothing")
		pod.Labels["app"] = "x"
		pod.Annotations["note"] = "y"
		pod.Finalizers[0] = "x"
		pod.Spec.NodeSelector["os"] = "x"
		pod.Spec.Containers[0].Args[0] = "x"
		*pod.Spec.Tolerations[0].TolerationSeconds = 1
		pod.Spec.Tolerations[0].Key = "x"
		pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight = 9
		apart := pod.Spec.Affinity.PodAntiAffinity
		apart.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = "x"
		require.Equal(t, everything(), spec.Template, "and so does changing the pod")
	}
}

func TestD4PodsOfOneTemplateAreMadeConcurrently(t *testing.T) {
	spec := specWith(everything())
	spec.TemplateGeneration = "7"
	var makers sync.WaitGroup
	for i := range 8 {
		makers.Go(func() {
			for j := range 50 {
				node := fmt.Sprintf("n%d-%d", i, j)
				pod, err := rollout.NewPod(agents(), spec, creationOn(node))
				if err != nil || daemon.TargetNode(pod) != node {
					t.Errorf("pod for %s: %v, %v", node, pod, err)
				}
				pod.Labels["app"] = node
				pod.Spec.Tolerations[0].Key = node
			}
		})
	}
	makers.Wait()
	require.Equal(t, everything(), spec.Template)
}

// These names are on clusters. Another scheme would make second pods next to
// them.
func TestD4NamesOfPodsStayWhatTheyAre(t *testing.T) {
	name := func(set string, creation rollout.Creation) string {
		owner := agents()
		owner.Object = &metav1.ObjectMeta{Name: set, UID: owner.Object.GetUID()}
		pod, err := rollout.NewPod(owner, specWith(everything()), creation)
		require.NoError(t, err)
		return pod.Name
	}
	require.Equal(t, "agents-qb7xwp98", name("agents", creationOn("node-1")))
	again := creationOn("node-1")
	again.Reason = rollout.StepSurging
	require.Equal(t, "agents-qb7xwp98", name("agents", again), "whatever it is made for")
	again.Attempt = 1
	require.Equal(t, "agents-gmskgfkz", name("agents", again))

	long := strings.Repeat("a", 53)
	require.Equal(t, long+"b-qb7xwp98", name(long+"b", creationOn("node-1")))
	require.Equal(t, long+"b-qb7xwp98", name(long+"bc", creationOn("node-1")))
	require.Equal(t, long+"-qb7xwp98", name(long+"-c", creationOn("node-1")))
	require.Equal(t, long[:52]+"-qb7xwp98", name(long[:52]+".-c", creationOn("node-1")))
}

func TestD4EachPartOfTheIdentityChangesTheName(t *testing.T) {
	type identity struct {
		uid, node, revision string
		attempt             int
	}
	seen := map[string]identity{}
	// Among them some that run together without something between their parts.
	for _, id := range []identity{
		{"u", "n", "r", 0}, {"u", "n", "r", 1}, {"u", "n", "r1", 0}, {"u", "n", "r1", 1}, {"u", "n1", "r",
			0},
		{"u", "nr", "r", 0}, {"un", "n", "r", 0}, {"v", "n", "r", 0}, {"u", "n", "rr", 0}, {"u", "n", "r",
			11}, {"u", "n", "r1", 11}, {"u", "n", "r11", 1},
	} {
		owner := agents()
		owner.Object = &metav1.ObjectMeta{Name: "set", UID: types.UID(id.uid)}
		spec := &rollout.Spec{Template: everything(), Revision: id.revision}
		pod, err := rollout.NewPod(
			owner,
			spec,
			rollout.Creation{Node: id.node, Revision: id.revision, Attempt: id.attempt},
		)
		require.NoError(t, err)
		require.NotContains(t, seen, pod.Name, "%v", id)
		seen[pod.Name] = id
	}
}

func TestD4NamesAreValidAndSpread(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	spec := specWith(&corev1.PodTemplateSpec{})
	const pods = 200_000
	suffixes := make(map[string]bool, pods)
	var letters [8]map[byte]int
	for i := range letters {
		letters[i] = map[byte]int{}
	}
	var owner ownership.Owner
	for i := range pods {
		if i%1000 == 0 {
			owner = agents()
			owner.Object = &metav1.ObjectMeta{
				Name: randomSetName(random),
				UID:  types.UID(fmt.Sprintf("%08x-5d4f", random.Uint32())),
			}
		}
		pod, err := rollout.NewPod(
			owner,
			spec,
			rollout.Creation{
				Node:     fmt.Sprintf("node-%d", i%500),
				Attempt:  i % 1000 / 500,
				Revision: spec.Revision,
			},
		)
		require.NoError(t, err)
		if len(pod.Name) > 63 || len(validation.IsDNS1123Subdomain(pod.Name)) > 0 {
			t.Fatalf(
				"set %q: pod %q: %v",
				owner.Object.GetName(),
				pod.Name,
				validation.IsDNS1123Subdomain(pod.Name),
			)
		}
		at := strings.LastIndexByte(pod.Name, '-')
		require.True(t, strings.HasPrefix(owner.Object.GetName(), pod.Name[:at]))
		suffix := pod.Name[at+1:]
		suffixes[suffix] = true
		for j := range letters {
			letters[j][suffix[j]]++
		}
	}
	// 27^8 / pods^2 is 7: one collision in fourteen runs. Four or more: one in a
	// million.
	require.LessOrEqual(t, pods-len(suffixes), 3)
	for i := range letters {
		require.Len(t, letters[i], 27)
		for letter, count := range letters[i] { // 7407 each, standard deviation 84
			require.InDelta(t, pods/27, count, 600, "letter %c at %d", letter, i)
		}
	}
}

// randomSetName returns what the API server takes for a name, with dots and
// hyphens, and of all lengths.
func randomSetName(random *rand.Rand) string {
	for {
		name := make([]byte, 1+random.IntN(1+random.IntN(253)))
		for i := range name {
			name[i] = "abcdefghijklmnopqrstuvwxyz0123456789---..."[random.IntN(42)]
		}
		tidy := strings.NewReplacer("..", ".a", ".-", ".a", "-.", "a.").
			Replace(strings.Trim(string(name), "-."))
		if len(validation.IsDNS1123Subdomain(tidy)) == 0 {
			return tidy
		}
	}
}

func TestNewPodIsMadeOnlyIfItsOwnerWouldKeepIt(t *testing.T) {
	owner := agents()
	owner.Selector = &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": everything().Labels["app"]},
	}
	pod, err := rollout.NewPod(owner, specWith(everything()), creationOn("n"))
	require.NoError(t, err)
	require.NotNil(t, pod)
	owner.Selector.MatchLabels["app"] = "another"
	_, err = rollout.NewPod(owner, specWith(everything()), creationOn("n"))
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
}
