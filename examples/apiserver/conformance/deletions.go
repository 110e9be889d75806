package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deletions() []Case {
	return []Case{
		{Name: "grace period", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aBoundPod), Keep: "p"},
			{About: "delete", Call: remove(ResourcePods, "p", "")},
			{About: "it is terminating", Keep: "marked", Call: get(ResourcePods, "p"), Want: Answer{NewerThan: "p", Fields: Fields{
				"metadata.deletionTimestamp": Present, "metadata.deletionGracePeriodSeconds": 30, "metadata.generation": 2, "metadata.uid": "{p.uid}",
			}}},
			{About: "delete again", Call: remove(ResourcePods, "p", "")},
			{About: "delete with a longer period", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":60}`)},
			{About: "neither has an effect", Call: get(ResourcePods, "p"), Want: object(Fields{"metadata.resourceVersion": "{marked.version}"})},
			{About: "a shorter one", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":10}`)},
			{About: "has", Call: get(ResourcePods, "p"), Want: Answer{NewerThan: "marked", Fields: Fields{
				"metadata.deletionGracePeriodSeconds": 10, "metadata.generation": 2,
			}}},
			{About: "a condition of a terminating pod", Call: patch(ResourcePods, "p", types.StrategicMergePatchType,
				`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`).ofStatus(),
				Want: object(Fields{"status.conditions.0.status": "False", "metadata.deletionTimestamp": Present})},
			{About: "zero", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":0}`)},
			{About: "removes it", Call: get(ResourcePods, "p"), Want: notFound},
			{About: "events", Call: Call{Verb: VerbWatch, Resource: ResourcePods, Body: `{"resourceVersion":"{p.version}"}`}, Want: Answer{Events: []Event{
				{Type: "MODIFIED", Fields: Fields{"metadata.deletionGracePeriodSeconds": 30}},
				{Type: "MODIFIED", Fields: Fields{"metadata.deletionGracePeriodSeconds": 10}},
				{Type: "MODIFIED", Fields: Fields{"status.conditions.0.status": "False"}},
				{Type: "MODIFIED", Fields: Fields{"metadata.deletionGracePeriodSeconds": 0}},
				{Type: "DELETED", Fields: Fields{"metadata.uid": "{p.uid}", "metadata.deletionGracePeriodSeconds": 0}},
			}}},
		}},
		{Name: "no grace", Steps: []Step{
			{About: "an unbound pod", Call: create(ResourcePods, "p", aPod)},
			{About: "delete", Call: remove(ResourcePods, "p", "")},
			{About: "gone", Call: get(ResourcePods, "p"), Want: notFound},
			{About: "a failed pod", Call: create(ResourcePods, "q", aBoundPod)},
			{About: "fails", Call: patch(ResourcePods, "q", types.MergePatchType, `{"status":{"phase":"Failed"}}`).ofStatus()},
			{About: "delete", Call: remove(ResourcePods, "q", "")},
			{About: "gone", Call: get(ResourcePods, "q"), Want: notFound},
			{About: "a negative period", Call: create(ResourcePods, "r", aBoundPod)},
			{About: "delete", Call: remove(ResourcePods, "r", `{"gracePeriodSeconds":-5}`)},
			{About: "is one second", Call: get(ResourcePods, "r"), Want: object(Fields{"metadata.deletionGracePeriodSeconds": 1})},
		}},
		{Name: "preconditions of deletes", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aBoundPod), Keep: "old"},
			{About: "change", Call: patch(ResourcePods, "p", types.MergePatchType, `{"metadata":{"labels":{"a":"1"}}}`), Keep: "p"},
			{About: "another UID", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"other"}}`), Want: conflict},
			{About: "an old version", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"{p.uid}","resourceVersion":"{old.version}"}}`), Want: conflict},
			{About: "nothing has changed", Call: get(ResourcePods, "p"), Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			{About: "both right", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"{p.uid}","resourceVersion":"{p.version}"}}`)},
			{About: "terminating", Keep: "marked", Call: get(ResourcePods, "p"), Want: Answer{NewerThan: "p", Fields: Fields{"metadata.deletionTimestamp": Present}}},
			{About: "another UID of a terminating pod", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"other"}}`), Want: conflict},
			{About: "forced", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":0,"preconditions":{"uid":"{p.uid}"}}`)},
			{About: "again", Call: create(ResourcePods, "p", aBoundPod), Keep: "second"},
			{About: "the first's UID", Call: remove(ResourcePods, "p", `{"preconditions":{"uid":"{p.uid}"}}`), Want: conflict},
			{About: "the second stays", Call: get(ResourcePods, "p"), Want: object(Fields{"metadata.uid": "{second.uid}", "metadata.deletionTimestamp": nil})},
			{About: "a node", Call: create(ResourceNodes, thisNode, "")},
			{About: "another UID of a node", Call: remove(ResourceNodes, thisNode, `{"preconditions":{"uid":"other"}}`), Want: conflict},
		}},
		{Name: "finalizers", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aHeldPod)},
			{About: "forced delete", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":0}`)},
			{About: "held", Keep: "held", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.deletionTimestamp": Present, "metadata.deletionGracePeriodSeconds": 0})},
			{About: "again", Call: remove(ResourcePods, "p", `{"gracePeriodSeconds":0}`)},
			{About: "nothing has changed", Call: get(ResourcePods, "p"), Want: object(Fields{"metadata.resourceVersion": "{held.version}"})},
			{About: "finalized", Call: patch(ResourcePods, "p", types.MergePatchType, `{"metadata":{"finalizers":null}}`)},
			{About: "gone", Call: get(ResourcePods, "p"), Want: notFound},
			{About: "a node", Call: create(ResourceNodes, thisNode, `{"metadata":{"finalizers":["example.com/hold"]}}`)},
			{About: "delete", Call: remove(ResourceNodes, thisNode, "")},
			{About: "held", Call: get(ResourceNodes, thisNode),
				Want: object(Fields{"metadata.deletionTimestamp": Present, "metadata.deletionGracePeriodSeconds": 0})},
			{About: "no new finalizer", Call: patch(ResourceNodes, thisNode, types.MergePatchType, `{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}`),
				Want: invalid(metav1.CauseTypeForbidden, "metadata.finalizers")},
			{About: "finalized", Call: patch(ResourceNodes, thisNode, types.MergePatchType, `{"metadata":{"finalizers":null}}`)},
			{About: "gone", Call: get(ResourceNodes, thisNode), Want: notFound},
		}},
	}
}
