package main

import (
	"context"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// outage: kube-apiserver is killed when the first of 50 pods is seen to leave.
// So requests under way get no answer, whether they were carried out or not.
// 500 more come due while it is down.
func outage() scenario {
	const (
		toleration = 5 * time.Second
		more       = 2 * time.Second // than it takes to see the first and to kill
		down       = 5 * time.Second // and as long as it takes to start
	)
	return scenario{
		Name:  "outage",
		Title: "kube-apiserver killed while 50 leave, and back after 500 more have come due",
		Late:  15 * time.Second,
		Act: func(ctx context.Context, c *cluster, _ *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 20)
			if err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "web", 500, toleration+more, nodes...); err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "first", 50, toleration, nodes...); err != nil {
				return err
			}
			if err := c.taint(ctx, nodes...); err != nil {
				return err
			}
			if err := c.awaitFirst(ctx); err != nil {
				return err
			}
			if err := c.plane.KillAPIServer(); err != nil {
				return err
			}
			if err := wait.Pause(ctx, down); err != nil {
				return err
			}
			if err := c.plane.RestartAPIServer(ctx); err != nil {
				return err
			}
			c.isFree()
			return nil
		},
	}
}
