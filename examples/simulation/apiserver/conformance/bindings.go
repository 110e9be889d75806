package conformance

import "k8s.io/apimachinery/pkg/types"

func bind(name, body string) Call {
	return Call{Verb: VerbBind, Resource: ResourcePods, Name: name, Body: body}
}

func bindings() []Case {
	return []Case{
		{Name: "binding", Steps: []Step{
			{About: "create", Call: create(ResourcePods, "p", aPod), Keep: "p"},
			{About: "the scheduler's report", Call: patch(ResourcePods, "p", types.StrategicMergePatchType,
				`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",`+
					`"lastTransitionTime":"2001-01-01T00:00:00Z"}]}}`).ofStatus()},
			{About: "another UID", Call: bind("p", `{"metadata":{"uid":"other"},"target":{"name":"n"}}`), Want: conflict},
			{About: "an old version", Call: bind("p",
				`{"metadata":{"resourceVersion":"{p.version}"},"target":{"name":"n"}}`), Want: conflict},
			{About: "no node", Call: bind("p", `{}`), Want: failure},
			{About: "no kind of node", Call: bind("p", `{"target":{"kind":"Pod","name":"n"}}`), Want: failure},
			{About: "bind", Call: bind("p", `{"metadata":{"uid":"{p.uid}","labels":{"zone":"a"},"annotations":{"note":"b"}},`+
				`"target":{"kind":"Node","name":"n"}}`)},
			{About: "bound", Keep: "bound", Call: get(ResourcePods, "p"), Want: Answer{NewerThan: "p", Fields: Fields{
				"spec.nodeName": "n", "metadata.labels.zone": "a", "metadata.annotations.note": "b", "metadata.generation": 1,
				"status.conditions.0.type": "PodScheduled", "status.conditions.0.status": "True",
				"status.conditions.0.reason": nil, "status.conditions.1": nil,
			}}},
			{About: "bind again", Call: bind("p", `{"target":{"name":"n"}}`), Want: conflict},
			{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{bound.version}"})},
		}},
		{Name: "pods that are not bound", Steps: []Step{
			{About: "a terminating pod", Call: create(ResourcePods, "p",
				`{"metadata":{"finalizers":["example.com/hold"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)},
			{About: "delete", Call: remove(ResourcePods, "p", "")},
			{About: "bind", Call: bind("p", `{"target":{"name":"n"}}`), Want: conflict},
			{About: "a gated pod", Call: create(ResourcePods, "q",
				`{"spec":{"schedulingGates":[{"name":"example.com/wait"}],"containers":[{"name":"c","image":"i"}]}}`)},
			{About: "bind", Call: bind("q", `{"target":{"name":"n"}}`), Want: conflict},
		}},
	}
}
