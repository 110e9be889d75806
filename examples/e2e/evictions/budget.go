package main

import (
	"context"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// budget: a PodDisruptionBudget allows no disruption at first, then all;
// another never allows one. What it allows is written by hand: the disruption
// controller would have to be kube-controller-manager, and its own speed is not
// what is looked at.
//
// Upstream's controller deletes pods and never asks for a budget, which is how
// it is documented. So here it evicts pods that must not be evicted, and is not
// at fault.
func budget() scenario {
	const blocked = 15 * time.Second
	return scenario{
		Name:  "budget",
		Title: "a PodDisruptionBudget blocks for 15 s, then allows; another never does",
		Ours:  []string{"--action=evict"},
		Late:  30 * time.Second,
		Act: func(ctx context.Context, c *cluster, _ *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 4)
			if err != nil {
				return err
			}
			web, err := c.addPods(ctx, "web", 40, 0, nodes...)
			if err != nil {
				return err
			}
			guarded(web)
			precious, err := c.addPods(ctx, "precious", 10, 0, nodes...)
			if err != nil {
				return err
			}
			guarded(precious)
			if _, err := c.addPods(ctx, "free", 10, 0, nodes...); err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			for _, label := range []string{"web", "precious"} {
				if err := c.addBudget(ctx, label); err != nil {
					return err
				}
			}
			if err := c.taint(ctx, nodes...); err != nil {
				return err
			}
			if err := wait.Pause(ctx, blocked); err != nil {
				return err
			}
			return c.allowDisruptions(ctx, "web", web)
		},
	}
}

func guarded(pods []*pod) {
	for _, p := range pods {
		p.guarded = true
	}
}

// addBudget creates a budget for the pods with a label, which allows nothing.
func (c *cluster) addBudget(ctx context.Context, label string) error {
	all := intstr.FromString("100%")
	_, err := c.client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: label},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{app: label}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create budget %s: %w", label, err)
	}
	return c.setAllowed(ctx, label, 0)
}

// allowDisruptions makes a budget allow the eviction of all its pods.
func (c *cluster) allowDisruptions(ctx context.Context, name string, pods []*pod) error {
	now := time.Now()
	c.mu.Lock()
	for _, p := range pods {
		p.allowed = now
	}
	c.mu.Unlock()
	return c.setAllowed(ctx, name, len(pods))
}

// setAllowed writes what the disruption controller would.
func (c *cluster) setAllowed(ctx context.Context, name string, n int) error {
	budgets := c.client.PolicyV1().PodDisruptionBudgets(namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := budgets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Status.ObservedGeneration = live.Generation
		live.Status.DisruptionsAllowed = int32(n)
		_, err = budgets.UpdateStatus(ctx, live, metav1.UpdateOptions{})
		return err
	})
}
