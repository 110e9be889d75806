package rollout_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// sets is a core for the planners of many sets, which a timedqueue.Dispatcher
// drives.
type sets struct {
	timedqueue.Source[rollout.Task]
	planners map[types.UID]*rollout.Planner
}

// Finish passes a result on to the planner whose task it is.
func (s sets) Finish(now time.Time, task rollout.Task, result rollout.Result) {
	s.planners[task.Owner].Finish(now, task, result)
}

var _ timedqueue.Core[rollout.Task, rollout.Result] = sets{}

// Two sets use one store of nodes. Each node is observed once.
func ExampleNodes() {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	var nodes rollout.Nodes
	all := sets{planners: map[types.UID]*rollout.Planner{}}
	var sources []timedqueue.Source[rollout.Task]
	for _, pool := range []string{"gpu", "storage"} {
		template := &corev1.PodTemplateSpec{}
		template.Spec.NodeSelector = map[string]string{"pool": pool}
		planner, err := rollout.NewPlanner(rollout.Config{
			Owner: types.UID(pool + "-agent"), Nodes: &nodes,
			Spec: rollout.Spec{Template: template, Revision: "7b9c"},
		}, now)
		if err != nil {
			fmt.Println(err)
			return
		}
		all.planners[types.UID(pool+"-agent")] = planner
		sources = append(sources, planner)
	}
	all.Source = timedqueue.RoundRobin(sources...)

	for name, pool := range map[string]string{"ant": "gpu", "bee": "storage", "cow": "none"} {
		nodes.Observe(now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"pool": pool},
		}})
	}
	for task, ok := all.Start(now); ok; task, ok = all.Start(now) {
		fmt.Printf("%s: create a pod on %s\n", task.Owner, task.Create.Node)
	}
	// Output:
	// gpu-agent: create a pod on ant
	// storage-agent: create a pod on bee
}
