package program_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// A marker is a user's controller: each node gets an annotation. It has a
// fault: it remembers the names of the nodes that have it.
type marker struct {
	queue   *timedqueue.Queue[string, struct{}]
	handler *feed.Handler[*corev1.Node]
	marked  map[string]bool
}

func (m *marker) seen(now time.Time, node *corev1.Node) {
	if !m.marked[node.Name] {
		m.queue.Set(node.Name, struct{}{}, now)
	}
}

func (m *marker) gone(_ time.Time, node *corev1.Node) { m.queue.Remove(node.Name) }

func (m *marker) mark(ctx context.Context, item timedqueue.Item[string, struct{}]) timedqueue.Result {
	nodes := program.Client[*corev1.Node]{Kind: network.Nodes}
	patch := []byte(`{"metadata": {"annotations": {"example.com/mark": "yes"}}}`)
	node, err := nodes.Patch(ctx, item.Key, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, Err: err}
	}
	m.handler.Wrote(node)
	m.marked[node.Name] = true
	return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
}

// start begins a life of the controller.
func start(w *model.World, life int) *program.Process {
	p := program.New(w.Network, program.Config{Name: "marker", Life: life, Workers: 2})
	m := &marker{marked: map[string]bool{}}
	m.queue, _ = timedqueue.NewQueue(timedqueue.QueueConfig[string, struct{}]{}, p.Now())
	m.handler, _ = feed.NewHandler(feed.Config[*corev1.Node]{
		Update: p.Update, Seen: m.seen, Gone: m.gone, Store: p.Store(network.Nodes),
	})
	p.Perform(timedqueue.Jobs(m.queue, m.mark))
	p.Inform(network.Nodes, m.handler)
	return p
}

// A step is something that goes wrong.
type step struct {
	at         time.Duration
	what, node string
}

// play lets steps happen to a cluster of three nodes, and returns those that
// have no mark half an hour later.
func play(steps []step) (unmarked []string) {
	w := model.New(model.Config{WatchDelay: network.Span{Max: time.Second}})
	for _, name := range []string{"a", "b", "c"} {
		w.AddMachine(name, "zone-1", "rack-1")
	}
	life := 1
	controller := start(w, life)
	happen := map[string]func(step){
		"is replaced": func(s step) { w.After(20*time.Second, w.Machine(s.node).Unregister()) },
		"sees a crash of the controller": func(step) {
			controller.End("crash")
			life++
			controller = start(w, life)
		},
		"sees answers get lost": func(step) { w.After(time.Minute, w.LoseAnswers(0.5)) },
	}
	for _, s := range steps {
		w.At(s.at, func() { happen[s.what](s) })
	}
	for w.Step(time.Hour) {
	}
	for _, node := range w.Nodes() {
		if node.Annotations["example.com/mark"] == "" {
			unmarked = append(unmarked, node.Name)
		}
	}
	return unmarked
}

// A controller that is not ours is put into a simulated cluster. Random steps
// find its fault, and what does not matter is taken away.
func Example() {
	all := []string{"is replaced", "sees a crash of the controller", "sees answers get lost"}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		var steps []step
		for range 8 {
			at := time.Duration(random.IntN(30)) * time.Minute
			steps = append(steps, step{at, all[random.IntN(len(all))], []string{"a", "b", "c"}[random.IntN(3)]})
		}
		fails := func(steps []step) bool { return len(play(steps)) > 0 }
		if !fails(steps) {
			continue
		}
		smallest := seeds.Shrink(steps, fails, 100)
		for _, s := range smallest {
			fmt.Printf("after %v node %s %s\n", s.at, s.node, s.what)
		}
		fmt.Println("has no mark:", play(smallest))
		return
	}
	// Output:
	// after 16m0s node a is replaced
	// has no mark: [a]
}
