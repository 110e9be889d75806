package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Objects of the table. A pod on the node "n" needs no node of that name.
const (
	aPod      = `{"spec":{"containers":[{"name":"c","image":"i"}]}}`
	aBoundPod = `{"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`
	aHeldPod  = `{"metadata":{"finalizers":["example.com/hold"]},` +
		`"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`
	aLease = `{"spec":{"holderIdentity":"h","leaseDurationSeconds":40}}`
	// thisNode is the name of a node that no other case has.
	thisNode = "{ns}"
)

func get(r Resource, name string) Call {
	return Call{Verb: VerbGet, Resource: r, Name: name}
}

func create(r Resource, name, body string) Call {
	return Call{Verb: VerbCreate, Resource: r, Name: name, Body: body}
}

func update(r Resource, name, body string) Call {
	return Call{Verb: VerbUpdate, Resource: r, Name: name, Body: body}
}

func patch(r Resource, name string, kind types.PatchType, body string) Call {
	return Call{Verb: VerbPatch, Resource: r, Name: name, PatchType: kind, Body: body}
}

func remove(r Resource, name, options string) Call {
	return Call{Verb: VerbDelete, Resource: r, Name: name, Body: options}
}

// ofStatus is the same call to the status subresource.
func (c Call) ofStatus() Call {
	c.Subresource = "status"
	return c
}

// dry is the same call without an effect.
func (c Call) dry() Call {
	c.DryRun = true
	return c
}

// Refusals that many steps share.
var (
	notFound = Answer{Code: 404, Reason: metav1.StatusReasonNotFound}
	conflict = Answer{Code: 409, Reason: metav1.StatusReasonConflict}
	badCall  = Answer{Code: 400, Reason: metav1.StatusReasonBadRequest}
	// failure is the answer to a fault that the server makes an error without a
	// Status of.
	failure = Answer{Code: 500}
	// unprocessable is the answer to a JSON Patch that does not apply.
	unprocessable = Answer{Code: 422, Reason: metav1.StatusReasonInvalid}
)

// invalid is the answer to an object with one faulty field.
func invalid(kind metav1.CauseType, field string) Answer {
	return Answer{Code: 422, Reason: metav1.StatusReasonInvalid, Causes: []Cause{{kind, field}}}
}

func object(fields Fields) Answer { return Answer{Fields: fields} }

func writes() []Case {
	return []Case{
		{Name: "create", Steps: []Step{
			{About: "the server gives identity", Keep: "p", Call: create(ResourcePods, "p",
				`{"metadata":{"uid":"mine","generation":7,"creationTimestamp":"2001-01-01T00:00:00Z"},`+
					`"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}`),
				Want: object(Fields{
					"metadata.generation": 1, "status.phase": "Pending", "metadata.namespace": "{ns}",
					"spec.terminationGracePeriodSeconds": 30,
				})},
			{About: "read back", Call: get(ResourcePods, "p"), Want: object(Fields{
				"metadata.uid": "{p.uid}", "metadata.resourceVersion": "{p.version}",
			})},
			{About: "a second of the name", Call: create(ResourcePods, "p", aPod),
				Want: Answer{Code: 409, Reason: metav1.StatusReasonAlreadyExists}},
			{About: "a resourceVersion", Call: create(ResourcePods, "q",
				`{"metadata":{"resourceVersion":"5"},"spec":{"containers":[{"name":"c","image":"i"}]}}`),
				Want: failure},
			{About: "no name", Call: create(ResourcePods, "", aPod),
				Want: invalid(metav1.CauseTypeFieldValueRequired, "metadata.name")},
			{About: "another namespace", Call: create(ResourcePods, "q",
				`{"metadata":{"namespace":"other"},"spec":{"containers":[{"name":"c","image":"i"}]}}`),
				Want: badCall},
			{About: "a node has its status from the start", Call: create(ResourceNodes, thisNode,
				`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`),
				Want: object(Fields{"metadata.generation": nil, "status.conditions.0.type": "Ready"})},
			{About: "a lease has no generation", Call: create(ResourceLeases, "l", aLease),
				Want: object(Fields{"metadata.generation": nil})},
		}},
		{Name: "missing objects", Steps: []Step{
			{About: "get", Call: get(ResourcePods, "p"), Want: notFound},
			{About: "update", Call: update(ResourcePods, "p", aPod), Want: notFound},
			{About: "update of the status", Call: update(ResourcePods, "p", aPod).ofStatus(), Want: notFound},
			{About: "patch", Call: patch(ResourcePods, "p", types.MergePatchType, `{"metadata":{"uid":"x"}}`), Want: notFound},
			{About: "JSON Patch whose test fails", Call: patch(ResourcePods, "p", types.JSONPatchType,
				`[{"op":"test","path":"/metadata/uid","value":"x"}]`), Want: notFound},
			{About: "delete", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"x"}}`), Want: notFound},
			{About: "binding", Call: bind("p", `{"target":{"name":"n"}}`), Want: notFound},
			{About: "node", Call: get(ResourceNodes, thisNode), Want: notFound},
			{About: "lease", Call: remove(ResourceLeases, "l", ""), Want: notFound},
		}},
		{Name: "update", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod), Keep: "old"},
			{About: "labels", Keep: "new", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"metadata":{"labels":{"a":"1"}}}`),
				Want: Answer{NewerThan: "old"}},
			{About: "an old version", Call: update(ResourcePods, "p",
				`{"metadata":{"resourceVersion":"{old.version}"},"spec":{"containers":[{"name":"c","image":"i"}]}}`),
				Want: conflict},
			{About: "an old version of the status",
				Call: update(ResourcePods, "p", `{"metadata":{"resourceVersion":"{old.version}"},`+
					`"spec":{"containers":[{"name":"c","image":"i"}]}}`).ofStatus(),
				Want: conflict},
			{About: "another UID", Call: update(ResourcePods, "p",
				`{"metadata":{"uid":"other"},"spec":{"containers":[{"name":"c","image":"i"}]}}`),
				Want: conflict},
			{About: "another UID and an old version", Call: update(ResourcePods, "p",
				`{"metadata":{"uid":"other","resourceVersion":"{old.version}"},`+
					`"spec":{"containers":[{"name":"c","image":"i"}]}}`),
				Want: conflict},
			{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{new.version}"})},
		}},
		{Name: "lease", Steps: []Step{
			{About: "create", Call: create(ResourceLeases, "l", aLease), Keep: "old"},
			{About: "update without a version", Call: update(ResourceLeases, "l", aLease),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.resourceVersion")},
			{About: "renewal in microseconds", Call: update(ResourceLeases, "l",
				`{"metadata":{"resourceVersion":"{old.version}"},`+
					`"spec":{"holderIdentity":"h","renewTime":"2023-11-14T22:13:20.123456Z"}}`),
				Want: Answer{NewerThan: "old", Fields: Fields{"spec.renewTime": "2023-11-14T22:13:20.123456Z",
					"metadata.uid": "{old.uid}"}}},
			{About: "an old version", Call: update(ResourceLeases, "l",
				`{"metadata":{"resourceVersion":"{old.version}"},"spec":{"holderIdentity":"i"}}`), Want: conflict},
			{About: "an update of a missing one creates it", Call: update(ResourceLeases, "m", aLease),
				Want: object(Fields{"metadata.uid": Present, "spec.holderIdentity": "h"})},
			{About: "not of a missing one with a UID",
				Call: update(ResourceLeases, "o", `{"metadata":{"uid":"gone"},"spec":{"holderIdentity":"h"}}`),
				Want: conflict},
			{About: "a missing one with a version too", Call: update(ResourceLeases, "q",
				`{"metadata":{"resourceVersion":"{old.version}"},"spec":{"holderIdentity":"h"}}`),
				Want: Answer{NewerThan: "old", Fields: Fields{"spec.holderIdentity": "h"}}},
		}},
		{Name: "spec and status", Steps: []Step{
			{About: "create", Call: create(ResourceNodes, thisNode, ""), Keep: "n"},
			{About: "a patch of the status leaves the spec alone",
				Call: patch(ResourceNodes, thisNode, types.StrategicMergePatchType,
					`{"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`).ofStatus(),
				Want: Answer{NewerThan: "n", Fields: Fields{"spec.unschedulable": nil, "status.conditions.0.status": "True"}}},
			{About: "a patch of the node leaves the status alone",
				Call: patch(ResourceNodes, thisNode, types.StrategicMergePatchType,
					`{"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`),
				Want: object(Fields{"spec.unschedulable": true, "status.conditions.0.status": "True"})},
			{About: "an update of the node too", Call: update(ResourceNodes, thisNode,
				`{"spec":{"unschedulable":true,"podCIDR":""}}`),
				Want: object(Fields{"spec.unschedulable": true, "status.conditions.0.status": "True", "spec.taints": nil})},
			{About: "an update of the status leaves the spec alone",
				Call: update(ResourceNodes, thisNode, `{"metadata":{"labels":{"a":"1"}}}`).ofStatus(),
				Want: object(Fields{"spec.unschedulable": true, "status.conditions": nil, "metadata.labels.a": "1"})},
			{About: "delete", Call: remove(ResourceNodes, thisNode, "")},
			{About: "it is gone", Call: get(ResourceNodes, thisNode), Want: notFound},
		}},
		{Name: "pods' spec and status", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod)},
			{About: "phase by the status", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"status":{"phase":"Running"}}`).ofStatus(),
				Want: object(Fields{"status.phase": "Running"})},
			{About: "not by the pod", Call: patch(ResourcePods, "p", types.MergePatchType, `{"status":{"phase":"Failed"}}`),
				Want: object(Fields{"status.phase": "Running"})},
			{About: "no node without a binding", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"spec":{"nodeName":"n"}}`),
				Want: invalid(metav1.CauseTypeForbidden, "spec")},
			{About: "labels through the status", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"metadata":{"labels":{"a":"1"}}}`).ofStatus(),
				Want: object(Fields{"metadata.labels.a": "1"})},
			{About: "finalizers through the status",
				Call: patch(ResourcePods, "p", types.MergePatchType,
					`{"metadata":{"finalizers":["example.com/hold"]}}`).ofStatus(),
				Want: object(Fields{"metadata.finalizers": []any{"example.com/hold"}})},
			{About: "a deletion time of the client's",
				Call: patch(ResourcePods, "p", types.MergePatchType, `{"metadata":{"deletionTimestamp":"2001-01-01T00:00:00Z"}}`),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.deletionTimestamp")},
			{About: "a creation time of the client's is ignored",
				Call: patch(ResourcePods, "p", types.MergePatchType,
					`{"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z","labels":{"a":"2"}}}`),
				Want: object(Fields{"metadata.creationTimestamp": Present, "metadata.labels.a": "2"})},
		}},
		{Name: "generation", Steps: []Step{
			{About: "create", Call: create(ResourceBudgets, "b",
				`{"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"a":"1"}}}}`),
				Want: object(Fields{"metadata.generation": 1})},
			{About: "labels do not count", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"metadata":{"labels":{"a":"1"},"generation":9}}`),
				Want: object(Fields{"metadata.generation": 1})},
			{About: "the spec counts", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"spec":{"maxUnavailable":2}}`),
				Want: object(Fields{"metadata.generation": 2})},
			{About: "the status does not", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"spec":{"maxUnavailable":3},"status":{"observedGeneration":2}}`).ofStatus(),
				Want: object(Fields{"metadata.generation": 2, "spec.maxUnavailable": 2})},
			{About: "the same spec does not", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"spec":{"maxUnavailable":2}}`),
				Want: object(Fields{"metadata.generation": 2})},
		}},
		{Name: "dry run", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod).dry(), Want: object(Fields{"metadata.uid": Present})},
			{About: "nothing is stored", Call: get(ResourcePods, "p"), Want: notFound},
			{About: "create it", Call: create(ResourcePods, "p", aBoundPod), Keep: "p"},
			{About: "a refusal", Call: create(ResourcePods, "p", aPod).dry(),
				Want: Answer{Code: 409, Reason: metav1.StatusReasonAlreadyExists}},
			{About: "patch", Call: patch(ResourcePods, "p", types.MergePatchType, `{"metadata":{"labels":{"a":"1"}}}`).dry(),
				Want: object(Fields{"metadata.labels.a": "1"})},
			{About: "patch of the status", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"status":{"phase":"Running"}}`).ofStatus().dry(),
				Want: object(Fields{"status.phase": "Running"})},
			{About: "delete with a wrong UID", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"other"}}`).dry(),
				Want: conflict},
			{About: "delete", Call: remove(ResourcePods, "p", "").dry()},
			{About: "forced delete", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":0}`).dry()},
			{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
		}},
	}
}
