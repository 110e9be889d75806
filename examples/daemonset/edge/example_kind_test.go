package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An AgentSet is a custom resource: a DaemonSet whose rollouts have canaries.
type AgentSet struct {
	metav1.ObjectMeta

	Template corev1.PodTemplateSpec
	Canaries *metav1.LabelSelector // of the only nodes that a rollout reaches
	Status   rollout.Status
}

var agentSetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "AgentSet"}

// setOf returns what the controller needs of an AgentSet.
func setOf(set *AgentSet) controller.Set {
	owner := ownership.Owner{
		Object: set, Kind: agentSetKind, Selector: &metav1.LabelSelector{MatchLabels: set.Template.Labels},
	}
	spec := rollout.Spec{
		Template: &set.Template, Strategy: rollout.Strategy{MaxUnavailable: intstr.FromInt32(2)},
	}
	if selector, err := metav1.LabelSelectorAsSelector(set.Canaries); set.Canaries != nil && err == nil {
		spec.Policy = canaries{selector: selector}
	}
	return controller.Set{
		Source: revision.Source{Owner: owner, Template: &set.Template}, Spec: spec, Status: set.Status,
	}
}

// canaries is a policy. A rollout reaches the nodes that it selects.
type canaries struct {
	rollout.DefaultPolicy
	selector labels.Selector
}

func (c canaries) Eligible(node *corev1.Node) bool {
	return c.selector.Matches(labels.Set(node.Labels))
}

// A new image reaches the canary, which is given time, and then all nodes.
func Example_ownKind() {
	set := &AgentSet{ObjectMeta: metav1.ObjectMeta{Namespace: "logging", Name: "agent", UID: "7d1"}}
	set.Template.Labels = map[string]string{"app": "agent"}
	set.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	c, err := newAgentSets()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"ant", "bee", "cow"} {
		labels := map[string]string{"name": name}
		c.edge.Nodes.OnAdd(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, true)
	}
	c.apply(set)
	c.core.MarkSynced(c.now)
	step := func(title string) {
		c.play()
		fmt.Printf("%s: %d of %d updated, %d available\n", title,
			c.set.Status.Updated, c.set.Status.Desired, c.set.Status.Available)
		for wait := range c.core.Waits(set.UID) {
			fmt.Println("  "+wait.Node, "waits:", wait.Reason)
		}
	}
	step("created")
	next := c.set.copy()
	next.Template.Spec.Containers[0].Image = "agent:2"
	next.Canaries = &metav1.LabelSelector{MatchLabels: map[string]string{"name": "bee"}}
	c.apply(next)
	step("the canary")
	next = c.set.copy()
	next.Canaries = nil
	c.apply(next)
	step("all nodes")
	// Output:
	// created: 3 of 3 updated, 3 available
	// the canary: 1 of 3 updated, 3 available
	//   ant waits: NotEligible
	//   cow waits: NotEligible
	// all nodes: 3 of 3 updated, 3 available
}

// agentSets is a controller of AgentSets, next to an API server in memory. A
// program has a timedqueue.Dispatcher perform the jobs, as package runner does,
// and informers call the handlers.
type agentSets struct {
	core *controller.Controller
	edge *edge.Edge[*AgentSet]
	jobs timedqueue.Source[timedqueue.Job]

	client kubernetes.Interface
	set    *AgentSet // as the API server has it
	pods   []corev1.Pod
	now    time.Time
}

func newAgentSets() (_ *agentSets, err error) {
	c := &agentSets{client: memory.NewCluster().NewClient(), now: time.Now()}
	if c.core, err = controller.NewController(controller.Config{Kind: agentSetKind.GroupKind()}, c.now); err != nil {
		return nil, err
	}
	c.edge, err = edge.NewEdge(edge.Config[*AgentSet]{
		Controller: c.core,
		Observe:    func(turn func(now time.Time)) { turn(c.now) },
		SetOf:      setOf,
		Collisions: func(*AgentSet) *int32 { return nil }, // the names of its revisions never collide
		Sets:       func(string) revision.OwnerClient[*AgentSet] { return agentSetClient{c} },
		Pods:       func(namespace string) edge.Pods { return c.client.CoreV1().Pods(namespace) },
		Revisions:  func(namespace string) revision.Client { return c.client.AppsV1().ControllerRevisions(namespace) },
		Stores:     edge.Stores{Sets: noStore{}, Pods: noStore{}, Revisions: noStore{}},
	})
	if err != nil {
		return nil, err
	}
	c.jobs, err = c.core.Jobs(c.edge.Actions(), c.now)
	return c, err
}

// apply changes the spec of the set, as a user does.
func (c *agentSets) apply(set *AgentSet) {
	set.Generation++
	c.set = set
	c.edge.Sets.OnAdd(set, false)
}

// play performs jobs for a minute. Each second the kubelets have all pods run,
// and the watch shows what has changed.
func (c *agentSets) play() {
	for range 60 {
		c.now = c.now.Add(time.Second)
		for job, ok := c.jobs.Start(c.now); ok; job, ok = c.jobs.Start(c.now) {
			job.Perform(context.Background())
			job.Finish(c.now)
		}
		pods := c.client.CoreV1().Pods(c.set.Namespace)
		list, err := pods.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range c.pods {
			if !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return pod.UID == c.pods[i].UID }) {
				c.edge.Pods.OnDelete(&c.pods[i])
			}
		}
		c.pods = list.Items
		for i := range c.pods {
			c.pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			c.edge.Pods.OnAdd(&c.pods[i], false)
		}
	}
}

func (s *AgentSet) copy() *AgentSet {
	set := *s
	set.Template = *s.Template.DeepCopy()
	return &set
}

// noStore takes the place of the store of an informer.
type noStore struct{}

func (noStore) LastSyncResourceVersion() string    { return "" }
func (noStore) GetByKey(string) (any, bool, error) { return nil, false, nil }

// agentSetClient is the client of the kind, which is generated in a program.
type agentSetClient struct{ *agentSets }

func (c agentSetClient) Get(context.Context, string, metav1.GetOptions) (*AgentSet, error) {
	return c.set.copy(), nil
}

func (c agentSetClient) Patch(_ context.Context, _ string, _ types.PatchType, patch []byte, _ metav1.PatchOptions,
	_ ...string) (*AgentSet, error) {
	c.set = c.set.copy()
	return c.set, json.Unmarshal(patch, c.set)
}
