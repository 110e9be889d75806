package revision_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kubelife/lifecycle/daemon/revision"
)

func TestRollbackFindsTheRevision(t *testing.T) {
	one, two, three := shippers("shipper:1"), shippers("shipper:2"), shippers("shipper:3")
	history := func(sets ...*appsv1.DaemonSet) []*appsv1.ControllerRevision {
		var revisions []*appsv1.ControllerRevision
		for i, set := range sets {
			revisions = append([]*appsv1.ControllerRevision{recorded(t, set, int64(i+1), "")}, revisions...)
		}
		return revisions
	}
	foreign := history(one, two, three)
	foreign[1].OwnerReferences[0].UID = "another"
	twins := history(two, one)
	twins[0].Revision = 1
	for _, c := range []struct {
		name      string
		set       *appsv1.DaemonSet
		revisions []*appsv1.ControllerRevision
		number    int64
		want      string // image
		err       error
	}{
		{"zero is the last but one", three, history(one, two, three), 0, "shipper:2", nil},
		{"a number", three, history(one, two, three), 1, "shipper:1", nil},
		{"zero after a rollback is what was rolled back", one, history(three, two, one), 0,
			"shipper:2", nil},
		{"zero when no controller has seen the new template", three, history(one, two), 0,
			"shipper:2", nil},
		{"zero passes over duplicates", two, history(one, two, two), 0, "shipper:1", nil},
		{"a number that two have", two, twins, 1, "shipper:1", nil},
		{"revisions of others do not count", three, foreign, 0, "shipper:1", nil},
		{"there is none of that number", three, history(one, two, three), 4,
			"", revision.ErrNoSuchRevision},
		{"no number is negative", three, history(one, two, three), -1, "", revision.ErrNoSuchRevision},
		{"it is the template already", three, history(one, two, three), 3,
			"", revision.ErrAlreadyCurrent},
		{"there was no other", one, history(one), 0, "", revision.ErrNoOtherRevision},
		{"there is nothing", one, nil, 0, "", revision.ErrNoOtherRevision},
	} {
		t.Run(c.name, func(t *testing.T) {
			rollback, err := revision.ComputeRollback(sourceOf(c.set), c.revisions, c.number)
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				require.Equal(t, c.want, rollback.Template.Spec.Containers[0].Image)
				require.Contains(t, string(rollback.Revision.Data.Raw), c.want)
			}
		})
	}
}

func TestRollbackPatchPutsTheTemplateInPlaceOfTheOther(t *testing.T) {
	former, set := shippers("shipper:1"), shippers("shipper:2")
	set.Spec.Template.Spec.NodeSelector = map[string]string{"added": "later"}
	rollback, err := revision.ComputeRollback(sourceOf(set),
		[]*appsv1.ControllerRevision{recorded(t, former, 1, "")}, 0)
	require.NoError(t, err)
	require.Contains(t, string(rollback.Patch), `"metadata":{"resourceVersion":"500","uid":"set-1"}`)

	before, err := json.Marshal(set)
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, rollback.Patch, appsv1.DaemonSet{})
	require.NoError(t, err)
	var restored appsv1.DaemonSet
	require.NoError(t, json.Unmarshal(after, &restored))
	require.Equal(t, former.Spec.Template, restored.Spec.Template)
	require.Equal(t, set.Spec.Selector, restored.Spec.Selector)
	require.Equal(t, set.Annotations, restored.Annotations)
}

func TestRollbackRefusesARevisionThatChangesMoreThanTheTemplate(t *testing.T) {
	record := recorded(t, shippers("shipper:1"), 1, "")
	record.Data.Raw = []byte(`{"metadata":{"finalizers":["x"]},` +
		`"spec":{"template":{"$patch":"replace"}}}`)
	_, err := revision.ComputeRollback(sourceOf(shippers("shipper:2")),
		[]*appsv1.ControllerRevision{record}, 1)
	require.ErrorIs(t, err, revision.ErrInvalidData)
	_, err = revision.ComputeRollback(revision.Source{}, nil, 1)
	require.Error(t, err)
}
