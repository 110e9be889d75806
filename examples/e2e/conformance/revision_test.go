package conformance

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/controller"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	"sigs.k8s.io/randfill"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/e2e/conformance/upstream"
)

var epoch = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func startUpstream(t testing.TB) *upstream.DaemonSets {
	t.Helper()
	controller, err := upstream.NewDaemonSets(t.Context(), epoch)
	require.NoError(t, err)
	t.Cleanup(controller.Close)
	return controller
}

// setOf is a DaemonSet that upstream does something for: it has a selector, and
// labels in its template.
func setOf(template *corev1.PodTemplateSpec) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "agent", UID: "uid-of-agent", Generation: 1,
			Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "1"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template:             *template.DeepCopy(),
			UpdateStrategy:       appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
			RevisionHistoryLimit: new(int32(10)),
		},
	}
	return set
}

type revisionComparison struct {
	*testing.T
	upstream *upstream.DaemonSets
	what     string
}

// compare lets upstream's controller make a revision of the template, and wants
// ours to be the same, and upstream to take ours for its own.
func (c *revisionComparison) compare(template *corev1.PodTemplateSpec, collisions *int32) {
	c.Helper()
	set := setOf(template)
	set.Status.CollisionCount = collisions
	c.upstream.Sets.Replace([]any{set})
	writes := c.upstream.Sync(set)
	require.Len(c, writes.Revisions, 1)
	theirs := writes.Revisions[0]

	data, err := revision.Data(template)
	require.NoError(c, err)
	require.Equal(c, string(theirs.Data.Raw), string(data), c.what)
	require.Equal(c, controller.ComputeHash(template, collisions), revision.Hash(template, collisions), c.what)

	ours, err := revision.New(rollout.SourceOf(set), 1)
	require.NoError(c, err)
	require.Equal(c, theirs, ours, c.what)
	same, err := upstreamdaemon.Match(set, ours)
	require.NoError(c, err)
	require.True(c, same, "upstream takes it for the current one")
}

// undone compares the template that comes back out of the data.
func (c *revisionComparison) undone(template *corev1.PodTemplateSpec) {
	c.Helper()
	record, err := revision.New(rollout.SourceOf(setOf(template)), 1)
	require.NoError(c, err)
	back, err := revision.Template(record)
	require.NoError(c, err)
	same, err := upstreamdaemon.Match(setOf(back), record)
	require.NoError(c, err)
	require.True(c, same, "the template that is taken back has the revision that it was taken from")
}

func TestRevisionsOfACorpusAreThoseOfUpstream(t *testing.T) {
	corpus := revisionCorpus()
	require.GreaterOrEqual(t, len(corpus), 30)
	all := startUpstream(t)
	seen := map[string]string{}
	for name, template := range corpus {
		t.Run(name, func(t *testing.T) {
			c := revisionComparison{T: t, upstream: all, what: name}
			for _, collisions := range []*int32{nil, new(int32(0)), new(int32(1)), new(int32(1 << 30)), new(int32(-1))} {
				c.compare(template, collisions)
			}
			c.undone(template)
			data, err := revision.Data(template)
			require.NoError(t, err)
			require.Empty(t, seen[string(data)], "the corpus has it twice")
			seen[string(data)] = name
		})
	}
}

// fuzzedTemplates is how many random templates there are, with every field set
// in some of them.
const fuzzedTemplates = 1500

func TestRevisionsOfRandomTemplatesAreThoseOfUpstream(t *testing.T) {
	c := revisionComparison{T: t, upstream: startUpstream(t)}
	r := reached{}
	for seed := range seeds(fuzzedTemplates) {
		template := fuzzedTemplate(seed)
		c.what = fmt.Sprintf("-args -seed=%d", seed)
		c.compare(template, nil)
		count(r, template)
	}
	r.require(t, floors{
		"templates": fuzzedTemplates, "HTML characters": 1000, "not ASCII": 1000, "ephemeral containers": 300,
		"init containers": 300,
		"affinity":        500, "volumes": 300, "resources": 500, "creationTimestamp": 700,
	})
}

func fuzzedTemplate(seed uint64) *corev1.PodTemplateSpec {
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(int64(seed)), scheme.Codecs).NilChance(0.3).
		NumElements(0, 2).
		Funcs(func(s *string, c randfill.Continue) {
			*s = c.String(12)
			if c.Intn(4) == 0 {
				*s += `<a href="x">&amp;` + "\u2028\x00\\"
			}
		})
	template := &corev1.PodTemplateSpec{}
	filler.Fill(template)
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels["app"] = "agent"
	return template
}

func count(r reached, template *corev1.PodTemplateSpec) {
	r["templates"]++
	data, _ := revision.Data(template)
	for what, found := range map[string]bool{
		"HTML characters":      bytes.Contains(data, []byte(`\u003c`)) && bytes.Contains(data, []byte(`\u0026`)),
		"not ASCII":            bytes.ContainsFunc(data, func(r rune) bool { return r > 127 }),
		"ephemeral containers": len(template.Spec.EphemeralContainers) > 0,
		"init containers":      len(template.Spec.InitContainers) > 0,
		"affinity":             template.Spec.Affinity != nil,
		"volumes":              len(template.Spec.Volumes) > 0,
		"resources":            template.Spec.Resources != nil,
		"creationTimestamp":    !template.CreationTimestamp.IsZero(),
	} {
		if found {
			r[what]++
		}
	}
}
