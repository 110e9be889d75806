package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver/conformance"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// A comparison that finds nothing wrong with a wrong table proves nothing about
// a server.
func TestEachPartOfAnAnswerIsCompared(t *testing.T) {
	const pod = `{"spec":{"containers":[{"name":"c","image":"i"}]}}`
	create := conformance.Step{
		Call: conformance.Call{Verb: conformance.VerbCreate, Resource: conformance.ResourcePods, Name: "p", Body: pod},
		Keep: "p",
	}
	missing := conformance.Call{Verb: conformance.VerbGet, Resource: conformance.ResourcePods, Name: "q"}
	existing := conformance.Call{Verb: conformance.VerbGet, Resource: conformance.ResourcePods, Name: "p"}
	list := conformance.Call{Verb: conformance.VerbList, Resource: conformance.ResourcePods}
	watch := conformance.Call{Verb: conformance.VerbWatch, Resource: conformance.ResourcePods}
	foreign := conformance.Call{
		Verb: conformance.VerbPatch, Resource: conformance.ResourcePods, Name: "p",
		PatchType: types.MergePatchType, Body: `{"metadata":{"uid":"other"}}`,
	}
	for name, step := range map[string]conformance.Step{
		"success": {Call: existing, Want: conformance.Answer{Code: 404}},
		"refusal": {Call: missing},
		"code":    {Call: missing, Want: conformance.Answer{Code: 409, Reason: "NotFound"}},
		"reason":  {Call: missing, Want: conformance.Answer{Code: 404, Reason: "Conflict"}},
		"causes":  {Call: foreign, Want: conformance.Answer{Code: 422, Reason: "Invalid"}},
		"field":   {Call: existing, Want: conformance.Answer{Fields: conformance.Fields{"status.phase": "Running"}}},
		"absence": {Call: existing, Want: conformance.Answer{Fields: conformance.Fields{"status.phase": nil}}},
		"presence": {Call: existing,
			Want: conformance.Answer{Fields: conformance.Fields{"spec.nodeName": conformance.Present}}},
		"version": {Call: existing, Want: conformance.Answer{NewerThan: "p"}},
		"names":   {Call: list, Want: conformance.Answer{Names: []string{"q"}}},
		"event":   {Call: watch, Want: conformance.Answer{Events: []conformance.Event{{Type: "MODIFIED"}}}},
		"event's fields": {Call: watch, Want: conformance.Answer{Events: []conformance.Event{
			{Type: "ADDED", Fields: conformance.Fields{"metadata.name": "q"}},
		}}},
	} {
		c := conformance.Case{Steps: []conformance.Step{create, step}}
		require.Error(t, conformance.Check(t.Context(), memory.NewCluster(), "", c), name)
	}
}
