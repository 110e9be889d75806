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
func ExampleNodeMonitor() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	start := now
	config := nodehealth.Config{GracePeriod: 50 * time.Second}
	monitor, err := nodehealth.NewNodeMonitor(config, now)
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

	// A Dispatcher does all of this. It sleeps until Next.
	for {
		next, ok := monitor.Next(now)
		if !ok {
			break
		}
		now = next
		task, ok := monitor.Start(now)
		if !ok {
			continue // it was heard since its expiry was set
		}
		fmt.Printf("%v: %s is silent since %v\n", now.Sub(start), task.Key, task.Since.Sub(start))
		patch, needed, err := nodehealth.UnknownPatch(node, now)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("patch of its status needed:", needed && len(patch) > 0)
		// The patch was accepted. If it is refused, the outcome is OutcomeFailed.
		monitor.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	}
	fmt.Println("silent:", monitor.Silent("node-1"))

	// Output:
	// 1m20s: node-1 is silent since 30s
	// patch of its status needed: true
	// silent: true
}

// Devices are pinged. One falls silent, and counts as alive after it has
// answered for half a minute.
func ExampleMonitor() {
	type device struct{ rack, slot int }
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	start := now
	monitor, err := nodehealth.NewMonitor[device](nodehealth.Config{
		GracePeriod:    15 * time.Second,
		RecoveryPeriod: 30 * time.Second,
	}, now)
	if err != nil {
		log.Fatal(err)
	}
	steady, shaky := device{rack: 1, slot: 1}, device{rack: 1, slot: 2}
	monitor.Observe(now, steady, nodehealth.Observation{Reported: true})
	monitor.Observe(now, shaky, nodehealth.Observation{Reported: true})

	for range 24 {
		now = now.Add(5 * time.Second)
		monitor.Heartbeat(now, steady)
		if off := now.Sub(start); off < 20*time.Second || off > time.Minute {
			monitor.Heartbeat(now, shaky)
		}
		if task, ok := monitor.Start(now); ok {
			fmt.Printf("%v: %+v is %s\n", now.Sub(start), task.Key, task.State)
			monitor.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
		}
	}
	// Output:
	// 30s: {rack:1 slot:2} is Silent
	// 1m35s: {rack:1 slot:2} is Alive
}

func ExampleUnknownPatch() {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "3c1f"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: nodehealth.ReasonStopped},
		}},
	}
	_, needed, err := nodehealth.UnknownPatch(
		node, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
	)
	fmt.Println(nodehealth.ReadyStatus(node), needed, err)
	// Output:
	// Unknown false <nil>
}

// Endpoints follow the readiness of pods, and the pods of a dead node cannot
// say themselves that they are not ready.
func ExamplePodNotReadyPatch() {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", UID: "77aa"},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	patch, needed, err := nodehealth.PodNotReadyPatch(
		pod, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
	)
	fmt.Println(needed, err)
	fmt.Println(string(patch))
	// Output:
	// true <nil>
	// [{"op":"test","path":"/metadata/uid","value":"77aa"},{"op":"test","path":"/status/conditions/0/type","value":"Ready"},{"op":"test","path":"/status/conditions/0/status","value":"True"},{"op":"test","path":"/status/conditions/0/lastTransitionTime","value":null},{"op":"add","path":"/status/conditions/0/status","value":"False"},{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"2026-03-01T12:00:00Z"}]
}
