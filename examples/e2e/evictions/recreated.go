package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// waves of pods that are recreated one after the other, between two times after
// the taint. The second wave is when the timers end. TimeAdded is in whole
// seconds, so one controller finds a pod due up to a second later than another.
var waves = []struct {
	name       string
	pods       int
	begin, end time.Duration
}{
	{"waiting", 40, recreatedToleration * 4 / 10, recreatedToleration * 95 / 100},
	{"due", 120, recreatedToleration * 95 / 100, recreatedToleration * 115 / 100},
}

const recreatedToleration = 10 * time.Second

// recreated: pods are deleted and created again under their names, as a
// StatefulSet does. It happens while the timers of their tolerations run and
// when they end. Half of the new ones are on the same node and have a full
// toleration before them. Half are on a node that is not tainted, where they
// must stay.
func recreated() scenario {
	return scenario{
		Name:  "recreated",
		Title: "pods deleted and recreated under their names while their timers run",
		Late:  3 * time.Second,
		Act: func(ctx context.Context, c *cluster, _ *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 4)
			if err != nil {
				return err
			}
			refuge, err := c.addNodes(ctx, "refuge", 1)
			if err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "steady", 20, recreatedToleration, nodes...); err != nil {
				return err
			}
			pods := make([][]*pod, len(waves))
			for i, w := range waves {
				if pods[i], err = c.addPods(ctx, w.name, w.pods, recreatedToleration, nodes...); err != nil {
					return err
				}
			}
			if err := c.taint(ctx, nodes...); err != nil {
				return err
			}
			tainted := time.Now()
			var group errgroup.Group
			for i, w := range waves {
				for n, old := range pods[i] {
					node := old.node
					if n%2 == 1 {
						node = refuge[0]
					}
					moment := tainted.Add(w.begin + (w.end-w.begin)*time.Duration(n)/time.Duration(w.pods))
					group.Go(func() error { return c.recreateAt(ctx, moment, old, node) })
				}
			}
			return group.Wait()
		},
	}
}

// recreateAt deletes a pod at a time, if no other client has done so, and
// creates it again at once.
func (c *cluster) recreateAt(ctx context.Context, moment time.Time, old *pod, node string) error {
	if err := wait.PauseUntil(ctx, moment); err != nil {
		return err
	}
	err := c.client.CoreV1().Pods(namespace).Delete(ctx, old.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &old.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", old.name, err)
	}
	_, err = c.addPod(ctx, old.name, old.name, old.tolerates, node)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another client has deleted the new one already, which the judge will see
	}
	return err
}
