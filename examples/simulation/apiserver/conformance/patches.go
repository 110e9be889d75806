package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func patches() []Case {
	const (
		asJSON      = types.JSONPatchType
		asMerge     = types.MergePatchType
		asStrategic = types.StrategicMergePatchType
	)
	return []Case{
		{Name: "kinds of patches", Steps: []Step{
			{About: "create", Call: create(ResourceNodes, thisNode, "")},
			{About: "a JSON Patch sets", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]}]`),
				Want: object(Fields{"spec.taints.0.key": "a", "spec.taints.1": nil})},
			{About: "a merge patch replaces a list", Call: patch(ResourceNodes, thisNode, asMerge,
				`{"spec":{"taints":[{"key":"b","effect":"NoSchedule"}]},"metadata":{"labels":{"zone":"x"}}}`),
				Want: object(Fields{"spec.taints.0.key": "b", "spec.taints.1": nil, "metadata.labels.zone": "x"})},
			{About: "two conditions", Call: patch(ResourceNodes, thisNode, asStrategic,
				`{"status":{"conditions":[{"type":"Ready","status":"True"},`+
					`{"type":"MemoryPressure","status":"False"}]}}`).ofStatus(),
				Want: object(Fields{"status.conditions.0.status": "True", "status.conditions.1.status": "False"})},
			{About: "a strategic patch merges them by type", Call: patch(ResourceNodes, thisNode, asStrategic,
				`{"status":{"conditions":[{"type":"MemoryPressure","status":"Unknown"}]}}`).ofStatus(),
				Want: object(Fields{"status.conditions.0.status": "True", "status.conditions.1.status": "Unknown",
					"status.conditions.2": nil})},
			{About: "null removes", Call: patch(ResourceNodes, thisNode, asMerge, `{"spec":{"taints":null}}`),
				Want: object(Fields{"spec.taints": nil})},
			{About: "a type that is not served", Call: patch(ResourceNodes, thisNode, "application/unknown", `{}`),
				Want: Answer{Code: 415, Reason: metav1.StatusReasonUnsupportedMediaType}},
		}},
		{Name: "guards of JSON Patches", Steps: []Step{
			{About: "create", Call: create(ResourceNodes, thisNode, "")},
			{About: "no taints", Keep: "n", Call: patch(ResourceNodes, thisNode, asMerge, `{"spec":{"taints":null}}`)},
			{About: "a missing list tests equal to null", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/metadata/uid","value":"{n.uid}"},{"op":"test","path":"/spec/taints","value":null},`+
					`{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]}]`),
				Want: Answer{NewerThan: "n", Fields: Fields{"spec.taints.0.key": "a"}}},
			{About: "not once it is there", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/spec/taints","value":null},{"op":"add","path":"/spec/taints","value":[]}]`),
				Want: unprocessable},
			{About: "the whole list", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]},`+
					`{"op":"replace","path":"/spec/taints",`+
					`"value":[{"key":"b","effect":"NoExecute","timeAdded":"2023-11-14T22:13:20Z"}]}]`),
				Want: object(Fields{"spec.taints.0.key": "b", "spec.taints.0.timeAdded": "2023-11-14T22:13:20Z"})},
			{About: "another list", Keep: "guarded", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/spec/taints",`+
					`"value":[{"key":"b","effect":"NoExecute","timeAdded":"2023-11-14T22:13:20Z"}]},`+
					`{"op":"remove","path":"/spec/taints"}]`),
				Want: object(Fields{"spec.taints": nil})},
			{About: "another UID", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/metadata/uid","value":"other"},`+
					`{"op":"add","path":"/metadata/labels","value":{"a":"1"}}]`),
				Want: unprocessable},
			{About: "a test that fails late", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"add","path":"/metadata/labels","value":{"a":"1"}},`+
					`{"op":"test","path":"/metadata/uid","value":"other"}]`),
				Want: unprocessable},
			{About: "a path that is missing", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/status/conditions/9/type","value":"Ready"}]`),
				Want: unprocessable},
			{About: "a removal of what is missing", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"remove","path":"/spec/taints"}]`), Want: unprocessable},
			{About: "nothing has changed", Call: get(ResourceNodes, thisNode),
				Want: object(Fields{"metadata.resourceVersion": "{guarded.version}"})},
			{About: "a version in a test", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/metadata/resourceVersion","value":"{guarded.version}"},`+
					`{"op":"add","path":"/spec/unschedulable","value":true}]`),
				Want: object(Fields{"spec.unschedulable": true})},
			{About: "an old version in a test", Call: patch(ResourceNodes, thisNode, asJSON,
				`[{"op":"test","path":"/metadata/resourceVersion","value":"{guarded.version}"},`+
					`{"op":"add","path":"/spec/unschedulable","value":false}]`),
				Want: unprocessable},
		}},
		{Name: "conditions by index", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aBoundPod), Keep: "p"},
			{About: "a condition", Call: patch(ResourcePods, "p", asStrategic,
				`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`).ofStatus()},
			{About: "set under a test", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"test","path":"/metadata/uid","value":"{p.uid}"},`+
					`{"op":"test","path":"/status/conditions/0/type","value":"Ready"},`+
					`{"op":"add","path":"/status/conditions/0/status","value":"False"},`+
					`{"op":"add","path":"/status/conditions/0/reason","value":"because"},`+
					`{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"2023-11-14T22:13:20Z"}]`).ofStatus(),
				Want: object(Fields{"status.conditions.0.status": "False", "status.conditions.0.reason": "because",
					"status.conditions.0.lastTransitionTime": "2023-11-14T22:13:20Z"})},
			{About: "appended", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"add","path":"/status/conditions/-","value":{"type":"DisruptionTarget","status":"True"}}]`).ofStatus(),
				Want: object(Fields{"status.conditions.1.type": "DisruptionTarget"})},
			{About: "another type", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"test","path":"/status/conditions/0/type","value":"Other"},`+
					`{"op":"remove","path":"/status/conditions/0"}]`).ofStatus(),
				Want: unprocessable},
			{About: "not by the pod itself", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"add","path":"/status/conditions/0/status","value":"Unknown"}]`),
				Want: object(Fields{"status.conditions.0.status": "False"})},
		}},
		{Name: "identity in patches", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod), Keep: "old"},
			{About: "own UID", Keep: "p", Call: patch(ResourcePods, "p", asStrategic,
				`{"metadata":{"uid":"{old.uid}","labels":{"a":"1"}}}`),
				Want: object(Fields{"metadata.labels.a": "1"})},
			{About: "another UID", Call: patch(ResourcePods, "p", asStrategic, `{"metadata":{"uid":"other"}}`),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.uid")},
			{About: "another UID for the status",
				Call: patch(ResourcePods, "p", asMerge, `{"metadata":{"uid":"other"},"status":{"phase":"Failed"}}`).ofStatus(),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.uid")},
			{About: "another UID set by a JSON Patch",
				Call: patch(ResourcePods, "p", asJSON, `[{"op":"replace","path":"/metadata/uid","value":"other"}]`),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.uid")},
			{About: "an old version", Call: patch(ResourcePods, "p", asMerge,
				`{"metadata":{"resourceVersion":"{old.version}"}}`), Want: conflict},
			{About: "an old version for the status",
				Call: patch(ResourcePods, "p", asStrategic,
					`{"metadata":{"resourceVersion":"{old.version}"},"status":{"phase":"Failed"}}`).ofStatus(), Want: conflict},
			{About: "an old version set by a JSON Patch",
				Call: patch(ResourcePods, "p", asJSON,
					`[{"op":"replace","path":"/metadata/resourceVersion","value":"{old.version}"}]`), Want: conflict},
			{About: "the version is looked at before the UID",
				Call: patch(ResourcePods, "p", asMerge, `{"metadata":{"uid":"other","resourceVersion":"{old.version}"}}`),
				Want: conflict},
			{About: "another name", Call: patch(ResourcePods, "p", asMerge, `{"metadata":{"name":"q"}}`), Want: badCall},
			{About: "another namespace", Call: patch(ResourcePods, "p", asMerge, `{"metadata":{"namespace":"q"}}`),
				Want: badCall},
			{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}", "status.phase": "Pending"})},
			{About: "the current version", Call: patch(ResourcePods, "p", asMerge,
				`{"metadata":{"resourceVersion":"{p.version}","labels":{"a":"2"}}}`),
				Want: Answer{NewerThan: "p", Fields: Fields{"metadata.labels.a": "2"}}},
		}},
		{Name: "faulty patches", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod), Keep: "p"},
			{About: "a merge patch that is no JSON", Call: patch(ResourcePods, "p", asMerge, `{"`), Want: badCall},
			{About: "a strategic patch that is no JSON", Call: patch(ResourcePods, "p", asStrategic, `{"`), Want: badCall},
			{About: "a JSON Patch that is no JSON", Call: patch(ResourcePods, "p", asJSON, `[{"`), Want: badCall},
			{About: "an unknown operation", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"twist","path":"/metadata/labels"}]`), Want: unprocessable},
			{About: "a wrong type", Call: patch(ResourcePods, "p", asMerge, `{"spec":{"containers":7}}`),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "patch")},
			{About: "two controllers", Call: patch(ResourcePods, "p", asStrategic, `{"metadata":{"ownerReferences":[`+
				`{"apiVersion":"apps/v1","kind":"DaemonSet","name":"a","uid":"a","controller":true},`+
				`{"apiVersion":"apps/v1","kind":"DaemonSet","name":"b","uid":"b","controller":true}]}}`),
				Want: invalid(metav1.CauseTypeFieldValueInvalid, "metadata.ownerReferences")},
			{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			{About: "a node", Call: create(ResourceNodes, thisNode, "")},
			{About: "the same taint twice", Call: patch(ResourceNodes, thisNode, asMerge,
				`{"spec":{"taints":[{"key":"a","effect":"NoSchedule","value":"1"},{"key":"a","effect":"NoSchedule"}]}}`),
				Want: invalid(metav1.CauseTypeFieldValueDuplicate, "metadata.taints[1]")},
		}},
		{Name: "patches that change nothing", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod)},
			{About: "labels", Keep: "p", Call: patch(ResourcePods, "p", asMerge, `{"metadata":{"labels":{"a":"1"}}}`)},
			{About: "merge", Call: patch(ResourcePods, "p", asMerge,
				`{"metadata":{"labels":{"a":"1"}},"status":{"phase":"Failed"}}`),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			{About: "strategic", Call: patch(ResourcePods, "p", asStrategic, `{"metadata":{"labels":{"a":"1"}}}`),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			{About: "JSON", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"replace","path":"/metadata/labels/a","value":"1"}]`),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			{About: "only tests", Call: patch(ResourcePods, "p", asJSON,
				`[{"op":"test","path":"/metadata/labels/a","value":"1"}]`),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
		}},
	}
}
