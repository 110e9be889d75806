package timedqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

type name = timedqueue.Item[string, struct{}]

// A task is a node to check or a pod to evict. One of the two is not nil.
type task struct{ node, pod *name }

// A composed is a core that is made of two.
type composed struct {
	timedqueue.Source[task]
	nodes, pods *timedqueue.Queue[string, struct{}]
}

func newComposed(nodes, pods *timedqueue.Queue[string, struct{}]) *composed {
	startNode := func(now time.Time) (task, bool) {
		node, ok := nodes.Start(now)
		return task{node: &node}, ok
	}
	startPod := func(now time.Time) (task, bool) {
		pod, ok := pods.Start(now)
		return task{pod: &pod}, ok
	}
	return &composed{
		Source: timedqueue.RoundRobin(
			timedqueue.SourceOf(startNode, nodes.Next),
			timedqueue.SourceOf(startPod, pods.Next),
		),
		nodes: nodes,
		pods:  pods,
	}
}

// Finish returns the result to the queue whose task it was.
func (c *composed) Finish(now time.Time, done task, result timedqueue.Result) {
	if done.node != nil {
		c.nodes.Finish(now, *done.node, result)
		return
	}
	c.pods.Finish(now, *done.pod, result)
}

// Two queues under one dispatcher take turns. Embedding the source makes the
// composition a core that lacks only Finish.
func ExampleRoundRobin() {
	config := timedqueue.QueueConfig[string, struct{}]{}
	nodes, nodesErr := timedqueue.NewQueue[string, struct{}](config, time.Now())
	pods, podsErr := timedqueue.NewQueue[string, struct{}](config, time.Now())
	if nodesErr != nil || podsErr != nil {
		fmt.Println(nodesErr, podsErr)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	act := func(_ context.Context, work task) timedqueue.Result {
		if work.node != nil {
			fmt.Println("check", work.node.Key)
			return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
		}
		fmt.Println("evict", work.pod.Key)
		if work.pod.Key == "pod-3" {
			stop()
		}
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	dispatcher, err := timedqueue.NewDispatcher(newComposed(nodes, pods), act,
		timedqueue.DispatcherConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	dispatcher.Update(func() {
		for _, pod := range []string{"pod-1", "pod-2", "pod-3"} {
			pods.Add(pod, struct{}{}, time.Now())
		}
		nodes.Add("node-1", struct{}{}, time.Now())
		nodes.Add("node-2", struct{}{}, time.Now())
	})
	if err := dispatcher.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// check node-1
	// evict pod-1
	// check node-2
	// evict pod-2
	// evict pod-3
}
