package conformance

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const aLabelledPod = `{"metadata":{"labels":{"app":"a"}},` +
	`"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`

func evict(name, body string) Call {
	return Call{Verb: VerbEvict, Resource: ResourcePods, Name: name, Body: body}
}

// running makes a pod that is running, and ready or not.
func running(name, ready string) []Step {
	return []Step{
		{About: "create " + name, Call: create(ResourcePods, name, aLabelledPod)},
		{About: "start " + name, Keep: name, Call: patch(ResourcePods, name, types.MergePatchType,
			`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"`+ready+`"}]}}`).ofStatus()},
	}
}

// allowing makes a budget of the pods whose status is that of a disruption
// controller.
func allowing(name string, allowed, healthy, desired int) []Step {
	return []Step{
		{About: "create " + name, Call: create(ResourceBudgets, name,
			`{"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"a"}}}}`)},
		{About: "count the pods of " + name, Keep: name, Call: patch(ResourceBudgets, name, types.MergePatchType,
			fmt.Sprintf(`{"status":{"observedGeneration":1,"disruptionsAllowed":%d,"currentHealthy":%d,`+
				`"desiredHealthy":%d,"expectedPods":3}}`, allowed, healthy, desired)).ofStatus()},
	}
}

// exhausted is the answer when a budget allows no disruption.
func exhausted(retryAfter int32) Answer {
	return Answer{Code: 429, Reason: metav1.StatusReasonTooManyRequests, RetryAfter: retryAfter,
		Causes: []Cause{{policyv1.DisruptionBudgetCause, ""}}}
}

func evictions() []Case {
	return []Case{
		{Name: "eviction", Steps: steps(
			running("p", "True"),
			Step{About: "another UID", Call: evict("p", `{"deleteOptions":{"preconditions":{"uid":"other"}}}`), Want: conflict},
			Step{About: "an old version", Call: evict("p", `{"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`),
				Want: conflict},
			Step{About: "a dry run", Call: evict("p", "").dry()},
			Step{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{p.version}"})},
			Step{About: "evict", Call: evict("p",
				`{"deleteOptions":{"preconditions":{"uid":"{p.uid}","resourceVersion":"{p.version}"}}}`)},
			Step{About: "it is marked and terminating", Keep: "gone", Call: get(ResourcePods, "p"),
				Want: object(Fields{
					"metadata.deletionTimestamp": Present, "status.conditions.1.type": "DisruptionTarget",
					"status.conditions.1.status": "True", "status.conditions.1.reason": "EvictionByEvictionAPI",
				})},
			Step{About: "evict again", Call: evict("p", "")},
			Step{About: "nothing has changed", Call: get(ResourcePods, "p"),
				Want: object(Fields{"metadata.resourceVersion": "{gone.version}"})},
			Step{About: "a shorter grace period", Call: evict("p", `{"deleteOptions":{"gracePeriodSeconds":0}}`)},
			Step{About: "it is gone", Call: get(ResourcePods, "p"), Want: notFound},
			Step{About: "evict what is missing", Call: evict("p", ""), Want: notFound},
		)},
		{Name: "a budget is counted down", Steps: steps(
			running("p", "True"), running("q", "True"), allowing("b", 1, 3, 2),
			Step{About: "a dry run", Call: evict("p", "").dry()},
			Step{About: "is not counted", Call: get(ResourceBudgets, "b"),
				Want: object(Fields{"metadata.resourceVersion": "{b.version}"})},
			Step{About: "the last disruption", Call: evict("p", "")},
			Step{About: "is counted", Call: get(ResourceBudgets, "b"), Want: Answer{NewerThan: "b", Fields: Fields{
				"status.disruptionsAllowed": 0, "status.disruptedPods.p": Present, "metadata.generation": 1,
				"status.conditions.0.type": "DisruptionAllowed", "status.conditions.0.status": "False",
				"status.conditions.0.reason": "InsufficientPods",
			}}},
			Step{About: "none is left", Call: evict("q", ""), Want: exhausted(0)},
			Step{About: "nor for a dry run", Call: evict("q", "").dry(), Want: exhausted(0)},
			Step{About: "nor with another UID", Call: evict("q", `{"deleteOptions":{"preconditions":{"uid":"other"}}}`),
				Want: exhausted(0)},
			Step{About: "the refused pod is not touched", Call: get(ResourcePods, "q"),
				Want: object(Fields{"metadata.resourceVersion": "{q.version}"})},
			Step{About: "a terminating pod goes", Call: evict("p", "")},
			Step{About: "a delete does not ask", Call: remove(ResourcePods, "q", "")},
		)},
		{Name: "a conflict uses up a disruption", Steps: steps(
			running("p", "True"), allowing("b", 1, 3, 2),
			Step{About: "another UID", Call: evict("p", `{"deleteOptions":{"preconditions":{"uid":"other"}}}`), Want: conflict},
			Step{About: "it is counted", Call: get(ResourceBudgets, "b"),
				Want: object(Fields{"status.disruptionsAllowed": 0, "status.disruptedPods.p": Present})},
			Step{About: "the right UID", Call: evict("p", `{"deleteOptions":{"preconditions":{"uid":"{p.uid}"}}}`),
				Want: exhausted(0)},
		)},
		{Name: "budgets of two", Steps: steps(
			running("p", "True"), allowing("a", 1, 3, 2), allowing("b", 1, 3, 2),
			Step{About: "a running pod", Call: evict("p", ""), Want: failure},
			Step{About: "neither is counted", Call: get(ResourceBudgets, "a"),
				Want: object(Fields{"metadata.resourceVersion": "{a.version}"})},
			Step{About: "delete one", Call: remove(ResourceBudgets, "b", "")},
			Step{About: "evict", Call: evict("p", "")},
		)},
		{Name: "a budget that is not observed", Steps: steps(
			running("p", "True"),
			Step{About: "create", Call: create(ResourceBudgets, "b",
				`{"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"a"}}}}`)},
			Step{About: "its status is older than its spec", Call: evict("p", ""), Want: exhausted(10)},
			Step{About: "one of other pods", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"spec":{"selector":{"matchLabels":{"app":"b"}}}}`)},
			Step{About: "is not asked", Call: evict("p", "")},
		)},
		{Name: "pods that are not ready", Steps: steps(
			running("p", "False"), running("q", "False"), allowing("b", 0, 2, 2),
			Step{About: "enough others are", Call: evict("p", "")},
			Step{About: "it is not counted", Call: get(ResourceBudgets, "b"),
				Want: object(Fields{"metadata.resourceVersion": "{b.version}"})},
			Step{About: "too few others are", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"status":{"currentHealthy":1}}`).ofStatus()},
			Step{About: "refused", Call: evict("q", ""), Want: exhausted(0)},
			Step{About: "always allow them", Call: patch(ResourceBudgets, "b", types.MergePatchType,
				`{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`)},
			Step{About: "another UID is no conflict then",
				Call: evict("q", `{"deleteOptions":{"preconditions":{"uid":"other"}}}`), Want: exhausted(10)},
			Step{About: "allowed", Call: evict("q", "")},
		)},
		{Name: "pods that no budget protects", Steps: steps(
			[]Step{{About: "create", Call: create(ResourcePods, "pending", aLabelledPod)},
				{About: "create", Call: create(ResourcePods, "unbound", `{"metadata":{"labels":{"app":"a"}},`+
					`"spec":{"containers":[{"name":"c","image":"i"}]}}`)}},
			running("ended", "False"), allowing("b", 0, 1, 2),
			Step{About: "end", Call: patch(ResourcePods, "ended", types.MergePatchType,
				`{"status":{"phase":"Succeeded"}}`).ofStatus()},
			Step{About: "another UID of a pending pod",
				Call: evict("pending", `{"deleteOptions":{"preconditions":{"uid":"other"}}}`), Want: conflict},
			Step{About: "a pending pod", Call: evict("pending", "")},
			Step{About: "is terminating", Call: get(ResourcePods, "pending"),
				Want: object(Fields{"metadata.deletionTimestamp": Present, "status.conditions.0.type": "DisruptionTarget"})},
			Step{About: "a pod on no node", Call: evict("unbound", "")},
			Step{About: "is gone", Call: get(ResourcePods, "unbound"), Want: notFound},
			Step{About: "a pod that has ended", Call: evict("ended", "")},
			Step{About: "is gone", Call: get(ResourcePods, "ended"), Want: notFound},
		)},
	}
}

// steps joins steps and lists of them.
func steps(parts ...any) []Step {
	var all []Step
	for _, part := range parts {
		switch part := part.(type) {
		case Step:
			all = append(all, part)
		case []Step:
			all = append(all, part...)
		}
	}
	return all
}
