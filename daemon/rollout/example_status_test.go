package rollout_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// agentStatus is the part of an own kind's status that its controller writes.
type agentStatus struct {
	rollout.Status `json:",inline"`

	Canary string `json:"canary"`
}

// An own kind, with a status of its own.
func ExampleStatusPatch() {
	set := &metav1.ObjectMeta{Name: "agent", Namespace: "logging", UID: "7d1"}
	stored := agentStatus{Status: rollout.Status{Desired: 3, Ready: 3, Observed: 4},
		Canary: "ant"}

	// That of a planner, after all tasks of generation 5 were handed out.
	status := rollout.Status{Desired: 3, Ready: 2}
	status.Observed = 5
	wanted := agentStatus{Status: status, Canary: "ant"}
	patch, err := rollout.StatusPatch(set, stored, wanted)
	fmt.Println(string(patch))
	fmt.Println(err)

	patch, err = rollout.StatusPatch(set, wanted, wanted)
	fmt.Println(patch == nil, err)
	// Output:
	// {"metadata":{"uid":"7d1"},"status":{"canary":"ant","currentNumberScheduled":0,"desiredNumberScheduled":3,"numberAvailable":0,"numberMisscheduled":0,"numberReady":2,"numberUnavailable":0,"observedGeneration":5,"updatedNumberScheduled":0}}
	// <nil>
	// true <nil>
}
