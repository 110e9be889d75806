package nodehealth_test

import (
	"fmt"
	"log"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

// A node renews its lease for a while and falls silent.
func ExampleMonitor() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	start := now
	monitor, err := nodehealth.NewNodeMonitor(nodehealth.Config{GracePeriod: 50 * time.Second}, now)
	if err != nil {
		log.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "3c1f"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}
	monitor.ObserveNode(now, node)
	monitor.MarkSynced()
	for range 3 {
		now = now.Add(10 * time.Second)
		monitor.ObserveLease(now, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now}},
		})
	}

	// Whoever drives the monitor sleeps until Next. A Dispatcher does all of this.
	for {
		next, ok := monitor.Next(now)
		if !ok {
			break
		}
		now = next
		silent, ok := monitor.Start(now)
		if !ok {
			continue // it had beaten since its expiry was set
		}
		fmt.Printf("%v: %s is silent since %v\n", now.Sub(start), silent.Key, silent.Since.Sub(start))
		patch, needed, err := nodehealth.UnknownPatch(node, now)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("patch of its status needed:", needed && len(patch) > 0)
		// The patch has gone through. Had it been refused: Undecided.
		monitor.Finish(now, silent, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	}
	fmt.Println("nothing to do until it beats")

	// Output:
	// 1m20s: node-1 is silent since 30s
	// patch of its status needed: true
	// nothing to do until it beats
}

func ExampleUnknownPatch() {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "3c1f"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: nodehealth.ReasonStopped},
		}},
	}
	_, needed, err := nodehealth.UnknownPatch(node, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	fmt.Println(nodehealth.ReadyStatus(node), needed, err)
	// Output:
	// Unknown false <nil>
}

// Endpoints follow the readiness of pods, and the pods of a dead node cannot say
// themselves that they are not ready.
func ExamplePodNotReadyPatch() {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", UID: "77aa"},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	patch, needed, err := nodehealth.PodNotReadyPatch(pod, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	fmt.Println(needed, err)
	fmt.Println(string(patch))
	// Output:
	// true <nil>
	// [{"op":"test","path":"/metadata/uid","value":"77aa"},{"op":"test","path":"/status/conditions/0/type","value":"Ready"},{"op":"test","path":"/status/conditions/0/status","value":"True"},{"op":"test","path":"/status/conditions/0/lastTransitionTime","value":null},{"op":"add","path":"/status/conditions/0/status","value":"False"},{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"2026-03-01T12:00:00Z"}]
}
