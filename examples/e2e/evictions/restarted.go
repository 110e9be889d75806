package main

import (
	"context"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// restarted: the controller is killed and started again half-way through
// tolerations.
func restarted() scenario {
	const toleration = 60 * time.Second
	return scenario{
		Name:  "restart",
		Title: "controller killed and restarted half-way through tolerations of 60 s",
		Late:  3 * time.Second,
		Act: func(ctx context.Context, c *cluster, running *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 4)
			if err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "web", 40, toleration, nodes...); err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			if err := c.taint(ctx, nodes...); err != nil {
				return err
			}
			if err := wait.Pause(ctx, toleration/2); err != nil {
				return err
			}
			return running.restart(ctx)
		},
	}
}
