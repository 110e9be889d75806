package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// One pass over a DaemonSet. Revisions and pods are claimed, and the history is
// updated. A plan is made and performed, and the status is written. A
// controller keeps the planner and has a timedqueue.Dispatcher drive it. It
// passes the reports of informers to the planner.
func Example() {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "monitoring", UID: "7d1", Generation: 1},
	}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	client := fake.NewClientset(
		set,
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "ant"},
		},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bee"}},
	)
	if err := pass(context.Background(), client, set); err != nil {
		fmt.Println(err)
	}
	// Output:
	// created for ant: Missing
	// created for bee: Missing
	// {"metadata":{"uid":"7d1"},"status":{"currentNumberScheduled":2,"desiredNumberScheduled":2,"numberAvailable":0,"numberMisscheduled":0,"numberReady":0,"numberUnavailable":2,"observedGeneration":1,"updatedNumberScheduled":2}}
}

func pass(ctx context.Context, client kubernetes.Interface, set *appsv1.DaemonSet) error {
	owner := rollout.OwnerOf(set)
	hash, pods, err := claim(ctx, client, set)
	if err != nil {
		return err
	}
	planner, err := rollout.NewPlanner(rollout.Config{Spec: rollout.SpecOf(set, hash)}, time.Now())
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		planner.ObserveNode(time.Now(), &nodes.Items[i])
	}
	for _, pod := range pods {
		planner.ObservePod(time.Now(), pod)
	}

	executor, err := rollout.NewExecutor(rollout.ExecutorConfig{
		Pods: func(namespace string) rollout.PodClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return err
	}
	for task, ok := planner.Start(time.Now()); ok; task, ok = planner.Start(time.Now()) {
		result := executor.Act(ctx, owner, task)
		planner.Finish(time.Now(), task, result)
		if result.Err != nil {
			return result.Err // the planner retries, from planner.Next on
		}
		if task.Create != nil {
			fmt.Printf("created for %s: %s\n", task.Create.Node, task.Create.Reason)
		}
	}

	status, whole := planner.Status(time.Now())
	if !whole {
		return nil // more nodes than one turn evaluates; a controller goes on
	}
	status.Observed = set.Generation
	patch, err := rollout.StatusPatch(set, rollout.StatusOf(&set.Status), status)
	fmt.Println(string(patch))
	return err
}

// claim returns the hash of the current revision, which is made if there is
// none, and the pods of the set.
func claim(
	ctx context.Context,
	client kubernetes.Interface,
	set *appsv1.DaemonSet,
) (string, []*corev1.Pod, error) {
	namespace := set.Namespace
	claimer, err := ownership.NewClaimer(rollout.OwnerOf(set), client.AppsV1().DaemonSets(namespace))
	if err != nil {
		return "", nil, err
	}
	revisions, err := client.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", nil, err
	}
	history, err := ownership.ClaimAll(
		ctx,
		claimer,
		client.AppsV1().ControllerRevisions(namespace),
		pointers(revisions.Items),
	)
	if err != nil {
		return "", nil, err
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", nil, err
	}
	claimed, err := ownership.ClaimAll(
		ctx,
		claimer,
		client.CoreV1().Pods(namespace),
		pointers(pods.Items),
	)
	if err != nil {
		return "", nil, err
	}

	plan, err := revision.Compute(rollout.SourceOf(set), history.Owned, slices.Values(claimed.Owned))
	if err != nil {
		return "", nil, err
	}
	manager, err := revision.NewManager(revision.ManagerConfig[*appsv1.DaemonSet]{
		Revisions: func(namespace string) revision.Client {
			return client.AppsV1().ControllerRevisions(namespace)
		},
		Pods: func(namespace string) ownership.Patcher[*corev1.Pod] {
			return client.CoreV1().Pods(namespace)
		},
		Owners: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client.AppsV1().DaemonSets(namespace)
		},
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
	})
	if err != nil {
		return "", nil, err
	}
	result, err := manager.Apply(ctx, plan)
	return result.Hash(), claimed.Owned, err
}

// pointers makes of what a client lists what an informer would have.
func pointers[T any](items []T) []*T {
	var all []*T
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}
