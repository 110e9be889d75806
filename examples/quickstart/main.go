// Command quickstart evicts pods that do not tolerate the taints of their
// nodes, one in ten seconds from each node, as far as PodDisruptionBudgets
// allow.
package main

import (
	"context"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/eviction/controller"
)

func main() {
	cluster, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	byNode := func(node *corev1.Node) string { return node.Name }
	budget := eviction.Budget{Name: "node", ByNode: byNode, Limit: 0.1} // evictions a second
	c, err := controller.NewController(controller.Config{
		Cluster: cluster,
		Tracker: eviction.Config{Budgets: []eviction.Budget{budget}},
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(c.Run(context.Background()))
}
