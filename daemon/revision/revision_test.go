package revision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

const hashLabel = "controller-revision-hash"

// shippers is a DaemonSet with an image of its own.
func shippers(image string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{}
	set.Name, set.Namespace, set.UID, set.ResourceVersion = "shipper", "logging", "set-1", "500"
	set.Annotations = map[string]string{"team": "a"}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shipper"}}
	set.Spec.Template.Labels = map[string]string{"app": "shipper"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "shipper", Image: image}}
	return set
}

// sourceOf is what the revisions of a set are made from.
func sourceOf(set *appsv1.DaemonSet) revision.Source {
	return revision.Source{
		Owner: ownership.Owner{
			Object: set, Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Selector: set.Spec.Selector,
		},
		Template: &set.Spec.Template, Collisions: set.Status.CollisionCount,
		Limit: set.Spec.RevisionHistoryLimit,
	}
}

func collisions(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount }

// recorded is the revision of a set's template, as an API server would have it.
// Without a name it has the one that a new one gets.
func recorded(
	t *testing.T, set *appsv1.DaemonSet, number int64, name string,
) *appsv1.ControllerRevision {
	t.Helper()
	record, err := revision.New(sourceOf(set), number)
	require.NoError(t, err)
	if name != "" {
		record.Name = "shipper-" + name
		record.Labels[hashLabel] = name
	}
	record.UID, record.ResourceVersion = types.UID("uid of "+record.Name), "7"
	return record
}

// shipper is a pod of a set, with a hash.
func shipper(name, hash string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.UID = name, "logging", types.UID("uid of "+name)
	pod.Labels = map[string]string{"app": "shipper", hashLabel: hash}
	reference := metav1.NewControllerRef(shippers(""), appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	pod.OwnerReferences = []metav1.OwnerReference{*reference}
	return pod
}

func richTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "logs", "a": "<&>"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "logs", Image: "logs:1",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				}}},
		},
	}
}

func TestDataIsWhatKubeControllerManagerWrites(t *testing.T) {
	stamped := richTemplate()
	stamped.CreationTimestamp = metav1.NewTime(time.Unix(0, 0))
	big := &corev1.PodTemplateSpec{}
	big.Generation = 1<<63 - 1 // a float64 would not hold it
	for _, c := range []struct {
		name     string
		template *corev1.PodTemplateSpec
		want     string
	}{
		{"keys in order, escapes", richTemplate(),
			`{"spec":{"template":{"$patch":"replace",` +
				`"metadata":{"labels":{"a":"\u003c\u0026\u003e","app":"logs"}},` +
				`"spec":{"containers":[{"image":"logs:1","name":"logs",` +
				`"resources":{"requests":{"cpu":"100m"}}}],"terminationGracePeriodSeconds":0}}}}`},
		{"nulls", &corev1.PodTemplateSpec{},
			`{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"containers":null}}}}`},
		{"large integers", big, `{"spec":{"template":{"$patch":"replace",` +
			`"metadata":{"generation":9223372036854775807},"spec":{"containers":null}}}}`},
		{"times", stamped, `{"spec":{"template":{"$patch":"replace",` +
			`"metadata":{"creationTimestamp":"1970-01-01T00:00:00Z",` +
			`"labels":{"a":"\u003c\u0026\u003e","app":"logs"}},` +
			`"spec":{"containers":[{"image":"logs:1","name":"logs",` +
			`"resources":{"requests":{"cpu":"100m"}}}],"terminationGracePeriodSeconds":0}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := revision.Data(c.template)
			require.NoError(t, err)
			require.Equal(t, c.want, string(data))
		})
	}
}

func TestDataOfNoTemplateIsAnError(t *testing.T) {
	_, err := revision.Data(nil)
	require.ErrorContains(t, err, "no template")
}

func TestTemplateGivesBackWhatWasRecorded(t *testing.T) {
	template := richTemplate()
	data, err := revision.Data(template)
	require.NoError(t, err)
	back, err := revision.Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
	require.NoError(t, err)
	again, err := revision.Data(back)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
	require.Equal(t, template.Labels, back.Labels)
	require.Equal(t, "logs:1", back.Spec.Containers[0].Image)
}

func TestTemplateRefusesWhatIsNoTemplate(t *testing.T) {
	for _, data := range []string{
		"", "null", "[]", "{", `"spec"`, `{}`,
		`{"spec":null}`, `{"spec":{}}`, `{"spec":{"template":null}}`,
		`{"spec":{"template":[]}}`,
		`{"spec":{"template":{"metadata":{},"spec":{}}}}`,
		`{"spec":{"template":{"$patch":"merge"}}}`,
		`{"metadata":{"labels":{"a":"b"}},"spec":{"template":{"$patch":"replace","spec":{}}}}`,
		`{"spec":{"selector":{},"template":{"$patch":"replace","spec":{}}}}`,
		`{"spec":{"template":{"$patch":"replace","spec":{"containers":"none"}}}}`,
		`{"spec":{"template":{"$patch":"replace","spec":{"terminationGracePeriodSeconds":"a minute"}}}}`,
	} {
		raw := runtime.RawExtension{Raw: []byte(data)}
		_, err := revision.Template(&appsv1.ControllerRevision{Data: raw})
		require.ErrorIs(t, err, revision.ErrInvalidData, data)
	}
}

// The hashes are what ComputeHash of k8s.io/kubernetes/pkg/controller v1.37.1
// returns.
// The rows of v0.35 and v0.36 are what this package returned. That of v0.37 is
// kube-controller-manager's: examples/e2e/conformance compares it.
func TestHashIsThatOfKubeControllerManager(t *testing.T) {
	zero, one := int32(0), int32(1)
	require.Equal(t, revision.Hash(&corev1.PodTemplateSpec{}, nil), revision.Hash(nil, nil))
	require.Contains(t, [][4]string{
		{"855d4b48d4", "5dd88b48d4", "7895566f57", "7dbfdbdbc9"}, // k8s.io/api v0.35
		{"5c49ffd9bf", "6f7665948f", "57b9996b5b", "85748b7f68"}, // v0.36
		{"7866968667", "795856f87f", "5f8c8bc44b", "54f4c57dcb"}, // v0.37
	}, [4]string{
		revision.Hash(richTemplate(), nil),
		revision.Hash(richTemplate(), &zero),
		revision.Hash(richTemplate(), &one),
		revision.Hash(nil, nil),
	}, "a template has the hash of one of the versions of k8s.io/api, for all collisions")
}

func TestANewRevisionIsMadeAsByKubeControllerManager(t *testing.T) {
	set := shippers("shipper:1")
	set.Status.CollisionCount = new(int32)
	record, err := revision.New(sourceOf(set), 4)
	require.NoError(t, err)
	hash := revision.Hash(&set.Spec.Template, set.Status.CollisionCount)
	yes := true
	require.Equal(t, metav1.ObjectMeta{
		Name: "shipper-" + hash, Namespace: "logging",
		Labels:      map[string]string{"app": "shipper", hashLabel: hash},
		Annotations: map[string]string{"team": "a"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: "shipper", UID: "set-1",
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}, record.ObjectMeta)
	require.EqualValues(t, 4, record.Revision)
	require.True(t, json.Valid(record.Data.Raw))

	record.Labels["mine"], record.Annotations["mine"] = "x", "x"
	require.NotContains(t, set.Spec.Template.Labels, "mine", "the template is that of a cache")
	require.NotContains(t, set.Annotations, "mine")
}

func TestAnOwnerThatIsNotCompleteIsRefused(t *testing.T) {
	_, err := revision.New(revision.Source{}, 1)
	require.ErrorContains(t, err, "the owner has no Object")
	_, err = revision.New(revision.Source{Owner: ownership.Owner{Object: &appsv1.DaemonSet{}}}, 1)
	for _, want := range []string{"UID", "kind", "Template"} {
		require.ErrorContains(t, err, want)
	}
}

// The API server refuses a DaemonSet that does not select its own pods. It does
// not check an own kind, whose pods would be released as soon as they are made.
func TestATemplateThatItsOwnerDoesNotSelectIsRefused(t *testing.T) {
	source := sourceOf(shippers("shipper:1"))
	source.Owner.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "typo"}}
	_, err := revision.Compute(source, nil, nil)
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
}

func FuzzTemplateAndRollback(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"template":{"$patch":"replace",` +
			`"metadata":{"creationTimestamp":null},"spec":{"containers":null}}}}`,
		`{"spec":{"template":{"$patch":"replace",` +
			`"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e3"}}}]}}}}`,
		`{"spec":{"template":{"$patch":"replace","x":1e999}}}`, `{"spec":{"template":{}}}`, `null`, ``,
	} {
		f.Add([]byte(seed), int64(0))
	}
	set := shippers("shipper:1")
	source := sourceOf(set)
	f.Fuzz(func(t *testing.T, data []byte, number int64) {
		record := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}, Revision: 1}
		record.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, source.Owner.Kind)}
		template, err := revision.Template(record)
		rollback, rollbackErr := revision.ComputeRollback(source, []*appsv1.ControllerRevision{record},
			number)
		if err != nil {
			require.ErrorIs(t, err, revision.ErrInvalidData)
			require.Error(t, rollbackErr)
			return
		}
		if rollbackErr == nil {
			require.True(t, json.Valid(rollback.Patch))
			require.True(t, strings.HasPrefix(string(rollback.Patch),
				`{"metadata":{"resourceVersion":"500","uid":"set-1"},"spec":{"template":{`),
				string(rollback.Patch))
		}
		// What was read can be recorded, and is the same when it is read again.
		written, err := revision.Data(template)
		require.NoError(t, err)
		raw := runtime.RawExtension{Raw: written}
		again, err := revision.Template(&appsv1.ControllerRevision{Data: raw})
		require.NoError(t, err)
		twice, err := revision.Data(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(twice))
	})
}
