package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An AgentSet is a custom resource: a DaemonSet whose rollouts have canaries.
type AgentSet struct {
	metav1.ObjectMeta

	Template corev1.PodTemplateSpec
	Canaries map[string]string // labels of the only nodes that a rollout reaches
	Strategy rollout.Strategy
	Status   rollout.Status
}

// A template reaches the canary, and then all nodes but one. A pause keeps it
// from the last node until the template is rolled back.
func Example_ownKind() {
	set := &AgentSet{ObjectMeta: metav1.ObjectMeta{Namespace: "logging", Name: "agent", UID: "7d1"}}
	set.Template.Labels = map[string]string{"app": "agent"}
	set.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	image := &set.Template.Spec.Containers[0].Image
	c, err := newAgentController(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	for name, canary := range map[string]string{"ant": "yes", "bee": "no", "cow": "no", "dog": "no"} {
		labels := map[string]string{"canary": canary}
		c.ObserveNode(time.Now(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	step := func(name string, change func()) {
		change()
		if err := c.reconcile(); err != nil {
			fmt.Println(err)
		}
		fmt.Println(name+":", set.Status.Updated, "pods of", set.Template.Spec.Containers[0].Image)
		for wait := range c.Waits() {
			fmt.Println("  "+wait.Node, "waits:", wait.Reason)
		}
	}
	step("create", func() {})
	step("canary", func() { *image, set.Canaries = "agent:2", map[string]string{"canary": "yes"} })
	step("partition", func() { set.Canaries, set.Strategy.Partition = nil, intstr.FromInt32(1) })
	step("pause", func() { set.Strategy = rollout.Strategy{Paused: true} })
	former, err := revision.ComputeRollback(c.source, c.history, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	step("roll back", func() { set.Template, set.Strategy = *former.Template, rollout.Strategy{} })
	// Output:
	// create: 4 pods of agent:1
	// canary: 1 pods of agent:2
	//   bee waits: NotEligible
	//   cow waits: NotEligible
	//   dog waits: NotEligible
	// partition: 3 pods of agent:2
	//   dog waits: Partitioned
	// pause: 3 pods of agent:2
	//   dog waits: Paused
	// roll back: 4 pods of agent:1
}

// agentPolicy has a rollout reach canaries only.
type agentPolicy struct {
	rollout.DefaultPolicy
	canaries labels.Set
}

func (p agentPolicy) Eligible(node *corev1.Node) bool {
	return p.canaries.AsSelector().Matches(labels.Set(node.Labels))
}

// An agentController is a core: the planner and the history of one set. In a
// program timedqueue/feed observes nodes and pods, ownership.ClaimAll adopts
// them, and a revision.Manager applies all that revision.Compute returns.
type agentController struct {
	*rollout.Planner

	set        *AgentSet
	source     revision.Source
	history    []*appsv1.ControllerRevision
	dispatcher *timedqueue.Dispatcher
	idle       func() // ends reconcile
}

func newAgentController(set *AgentSet) (*agentController, error) {
	owner := ownership.Owner{Object: set, Selector: &metav1.LabelSelector{}}
	owner.Selector.MatchLabels = set.Template.Labels
	owner.Kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "AgentSet"}
	c := &agentController{set: set, source: revision.Source{Owner: owner, Template: &set.Template}}
	spec, noSpec := c.spec()
	client := fake.NewClientset().CoreV1()
	pods := func(namespace string) rollout.PodClient { return client.Pods(namespace) }
	executor, noExecutor := rollout.NewExecutor(rollout.ExecutorConfig{Pods: pods})
	act := func(ctx context.Context, task rollout.Task) rollout.Result {
		return executor.Act(ctx, c.source.Owner, task)
	}
	var noPlanner, noDispatcher error
	c.Planner, noPlanner = rollout.NewPlanner(rollout.Config{Owner: set.UID, Spec: spec}, time.Now())
	c.dispatcher, noDispatcher = timedqueue.NewDispatcher(c, act, timedqueue.DispatcherConfig{})
	return c, errors.Join(noSpec, noExecutor, noPlanner, noDispatcher)
}

// spec returns what is wanted, and adds a new template to the history.
func (c *agentController) spec() (rollout.Spec, error) {
	plan, err := revision.Compute(c.source, c.history, nil)
	if plan.Create != nil {
		c.history = append(c.history, plan.Create)
	}
	template := c.set.Template.DeepCopy()
	return rollout.Spec{
		Template: template, Revision: plan.Hash, Strategy: c.set.Strategy,
		Policy: agentPolicy{canaries: c.set.Canaries},
	}, err
}

// reconcile follows a change of the set until there is nothing left to do.
func (c *agentController) reconcile() error {
	spec, noSpec := c.spec()
	var ctx context.Context
	ctx, c.idle = context.WithCancel(context.Background())
	err := errors.Join(noSpec, c.SetSpec(time.Now(), spec), c.dispatcher.Run(ctx))
	c.set.Status, _ = c.Status(time.Now())
	return err
}

// Next is asked when the worker is idle and Start has nothing for it.
func (c *agentController) Next(now time.Time) (time.Time, bool) {
	c.idle()
	return c.Planner.Next(now)
}

// Finish observes what a watch shows: a new pod is ready, a deleted one gone.
func (c *agentController) Finish(now time.Time, task rollout.Task, result rollout.Result) {
	c.Planner.Finish(now, task, result)
	if gone := task.Delete; gone != nil {
		c.ForgetPod(now, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: gone.Pod, UID: gone.UID}})
	} else if pod := result.Pod; pod != nil {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}
		c.ObservePod(now, pod)
	}
}
