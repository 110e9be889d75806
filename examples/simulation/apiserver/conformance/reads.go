package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func list(r Resource, options string) Call {
	return Call{Verb: VerbList, Resource: r, Body: options}
}

func watching(r Resource, options string) Call {
	return Call{Verb: VerbWatch, Resource: r, Body: options}
}

func reads() []Case {
	const labelX = `{"metadata":{"labels":{"app":"x"}}}`
	return []Case{
		{Name: "list", Steps: []Step{
			{About: "of nothing", Keep: "empty", Call: list(ResourcePods, ""), Want: Answer{Names: []string{}}},
			{About: "create", Call: create(ResourcePods, "b", aPod)},
			{About: "create", Call: create(ResourcePods, "c", aBoundPod)},
			{About: "create", Call: create(ResourcePods, "a", aPod)},
			{About: "label", Call: patch(ResourcePods, "a", types.MergePatchType, labelX), Keep: "last"},
			{About: "by name", Call: list(ResourcePods, ""), Want: Answer{Names: []string{"a", "b", "c"}, NewerThan: "empty"}},
			{About: "by label", Call: list(ResourcePods, `{"labelSelector":"app=x"}`), Want: Answer{Names: []string{"a"}}},
			{About: "by node", Call: list(ResourcePods, `{"fieldSelector":"spec.nodeName=n"}`),
				Want: Answer{Names: []string{"c"}}},
			{About: "not older than", Call: list(ResourcePods,
				`{"resourceVersion":"{last.version}","resourceVersionMatch":"NotOlderThan"}`),
				Want: Answer{Names: []string{"a", "b", "c"}}},
			{About: "by a field that is not offered", Call: list(ResourcePods, `{"fieldSelector":"spec.priority=1"}`),
				Want: badCall},
			{About: "of a version that is no number", Call: list(ResourcePods, `{"resourceVersion":"x"}`), Want: badCall},
			{About: "of the future", Call: list(ResourcePods, `{"resourceVersion":"100000000"}`), Want: Answer{
				Code: 504, Reason: metav1.StatusReasonTimeout, Causes: []Cause{{metav1.CauseTypeResourceVersionTooLarge, ""}},
				RetryAfter: 1,
			}},
		}},
		{Name: "watch", Steps: []Step{
			{About: "a pod", Call: create(ResourcePods, "p", aPod), Keep: "created"},
			{About: "another resource's write", Call: create(ResourceLeases, "l", aLease)},
			{About: "label", Call: patch(ResourcePods, "p", types.MergePatchType, labelX), Keep: "labelled"},
			{About: "bind", Call: bind("p", `{"target":{"name":"n"}}`)},
			{About: "without a version", Call: watching(ResourcePods, ""), Want: Answer{Events: []Event{
				{Type: "ADDED", Fields: Fields{"metadata.name": "p", "spec.nodeName": "n"}},
			}}},
			{About: "from a version", Call: watching(ResourcePods, `{"resourceVersion":"{created.version}"}`),
				Want: Answer{Events: []Event{
					{Type: "MODIFIED", Fields: Fields{"metadata.resourceVersion": "{labelled.version}"}},
					{Type: "MODIFIED", Fields: Fields{"spec.nodeName": "n"}},
				}}},
			{About: "a pod that comes to match", Call: watching(ResourcePods,
				`{"resourceVersion":"{created.version}","fieldSelector":"spec.nodeName=n"}`),
				Want: Answer{Events: []Event{{Type: "ADDED", Fields: Fields{"spec.nodeName": "n"}}}}},
			{About: "another label", Call: patch(ResourcePods, "p", types.MergePatchType,
				`{"metadata":{"labels":{"app":"y"}}}`), Keep: "left"},
			{About: "a pod that no longer matches",
				Call: watching(ResourcePods, `{"resourceVersion":"{created.version}","labelSelector":"app=x"}`),
				Want: Answer{Events: []Event{
					{Type: "ADDED", Fields: Fields{"metadata.resourceVersion": "{labelled.version}"}},
					{Type: "MODIFIED", Fields: Fields{"spec.nodeName": "n"}},
					{Type: "DELETED", Fields: Fields{"metadata.resourceVersion": "{left.version}", "metadata.labels.app": "x"}},
				}}},
			{About: "initial events and a bookmark", Call: watching(ResourcePods,
				`{"sendInitialEvents":true,"allowWatchBookmarks":true,"resourceVersionMatch":"NotOlderThan"}`),
				Want: Answer{Events: []Event{
					{Type: "ADDED", Fields: Fields{"metadata.resourceVersion": "{left.version}"}},
					{Type: "BOOKMARK", Fields: Fields{"metadata.name": nil}},
				}}},
			{About: "initial events without resourceVersionMatch",
				Call: watching(ResourcePods, `{"sendInitialEvents":true,"allowWatchBookmarks":true}`),
				Want: invalid(metav1.CauseTypeForbidden, "resourceVersionMatch")},
			{About: "by a field that is not offered", Call: watching(ResourcePods, `{"fieldSelector":"spec.priority=1"}`),
				Want: badCall},
			{About: "from a version that is no number", Call: watching(ResourcePods, `{"resourceVersion":"x"}`),
				Want: failure},
			{About: "from a version that is forgotten", Call: watching(ResourcePods, `{"resourceVersion":"{expired}"}`),
				Want: Answer{Events: []Event{
					{Type: "ERROR", Code: 410},
				}}},
		}},
	}
}
