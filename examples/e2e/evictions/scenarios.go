package evictions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A scenario is something that goes wrong while pods are evicted. There are
// nodes that will be tainted, with pods and bystanders.
type scenario struct {
	// name is what --scenario calls it, title its row of the table.
	name, title string
	// ours are flags of our program for it. Upstream's has none that matter here.
	ours []string
	// late is how long after it must and can leave a pod is still in time. It has
	// to allow for two crowded cores, and for the wait before another attempt.
	late time.Duration
	// nodes is how many nodes are tainted, and pods are those on them.
	nodes int
	pods  []group
	// act taints the nodes and plays what goes wrong, until nothing more stands in
	// the way.
	act func(context.Context, *cluster) error
}

// A group is pods that are alike. Its name is the first part of theirs, and
// their label app.
type group struct {
	name      string
	n         int
	tolerates time.Duration
	// guarded says that a budget forbids their eviction until allowDisruptions.
	guarded bool
}

// Heading has our flags and when a pod is late besides the title.
func (s scenario) Heading() sidebyside.Heading {
	title := s.title
	if len(s.ours) > 0 {
		title += " (ours with `" + strings.Join(s.ours, " ") + "`)"
	}
	return sidebyside.Heading{Name: s.name, Title: fmt.Sprintf("%s; late after %d s", title, s.late/time.Second)}
}

// scenarios are those of the table. The longest comes first, so that all
// together take less time when several are played at a time.
func scenarios() []scenario {
	return []scenario{restarted(), denied(), outage(), recreated(), budget(), patched()}
}

// restarted: the controller is killed and started again half-way through
// tolerations.
func restarted() scenario {
	const toleration = 60 * time.Second
	return scenario{
		name:  "restart",
		title: "controller killed and restarted half-way through tolerations of 60 s",
		late:  3 * time.Second,
		nodes: 4,
		pods:  []group{{name: "web", n: 40, tolerates: toleration}},
		act: func(ctx context.Context, c *cluster) error {
			if err := c.taintAll(ctx); err != nil {
				return err
			}
			if err := wait.Pause(ctx, toleration/2); err != nil {
				return err
			}
			if err := c.running.Restart(); err != nil {
				return err
			}
			return c.awaitCanary(ctx)
		},
	}
}

// denied: an admission policy denies the deletion of pods for a while. Some
// pods are due when it begins, some in the midst of it.
func denied() scenario {
	const denial = 20 * time.Second
	return scenario{
		name:  "denied",
		title: "an admission policy denies deletions for 20 s",
		late:  30 * time.Second, // the wait before the next attempt grows as long as it is denied
		nodes: 4,
		pods:  []group{{name: "at-once", n: 20}, {name: "later", n: 20, tolerates: denial / 2}},
		act: func(ctx context.Context, c *cluster) error {
			if err := c.deny(ctx); err != nil {
				return err
			}
			if err := c.taintAll(ctx); err != nil {
				return err
			}
			if err := wait.Pause(ctx, denial); err != nil {
				return err
			}
			if err := c.allow(ctx); err != nil {
				return err
			}
			c.isFree()
			return nil
		},
	}
}

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
		name:  "outage",
		title: "kube-apiserver killed while 50 leave, and back after 500 more have come due",
		late:  15 * time.Second,
		nodes: 20,
		pods:  []group{{name: "web", n: 500, tolerates: toleration + more}, {name: "first", n: 50, tolerates: toleration}},
		act: func(ctx context.Context, c *cluster) error {
			if err := c.taintAll(ctx); err != nil {
				return err
			}
			if err := c.awaitFirst(ctx); err != nil {
				return err
			}
			if err := c.Plane.KillAPIServer(); err != nil {
				return err
			}
			if err := wait.Pause(ctx, down); err != nil {
				return err
			}
			if err := c.Plane.RestartAPIServer(ctx); err != nil {
				return err
			}
			c.isFree()
			return nil
		},
	}
}

// waves of pods that are recreated one after the other, between two times after
// the taint. The second wave is when the timers end. TimeAdded is in whole
// seconds, so one controller finds a pod due up to a second later than another.
var waves = []struct {
	pods       group
	begin, end time.Duration
}{
	{
		group{name: "waiting", n: 40, tolerates: recreatedToleration},
		recreatedToleration * 4 / 10, recreatedToleration * 95 / 100,
	},
	{
		group{name: "due", n: 120, tolerates: recreatedToleration},
		recreatedToleration * 95 / 100, recreatedToleration * 115 / 100,
	},
}

const recreatedToleration = 10 * time.Second

// recreated: pods are deleted and created again under their names, as a
// StatefulSet does. It happens while the timers of their tolerations run and
// when they end. Half of the new ones are on the same node and have a full
// toleration before them. Half are on a node that is not tainted, where they
// must stay.
func recreated() scenario {
	return scenario{
		name:  "recreated",
		title: "pods deleted and recreated under their names while their timers run",
		late:  3 * time.Second,
		nodes: 4,
		pods:  []group{{name: "steady", n: 20, tolerates: recreatedToleration}, waves[0].pods, waves[1].pods},
		act: func(ctx context.Context, c *cluster) error {
			refuge, err := c.addNodes(ctx, "refuge", 1)
			if err != nil {
				return err
			}
			if err := c.taintAll(ctx); err != nil {
				return err
			}
			tainted := time.Now()
			var recreating errgroup.Group
			for _, w := range waves {
				for n, old := range c.groups[w.pods.name] {
					node := old.node
					if n%2 == 1 {
						node = refuge[0]
					}
					moment := tainted.Add(w.begin + (w.end-w.begin)*time.Duration(n)/time.Duration(w.pods.n))
					recreating.Go(func() error { return c.recreateAt(ctx, moment, old, node) })
				}
			}
			return recreating.Wait()
		},
	}
}

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
		name:  "budget",
		title: "a PodDisruptionBudget blocks for 15 s, then allows; another never does",
		ours:  []string{"--action=evict"},
		late:  30 * time.Second,
		nodes: 4,
		pods:  []group{{name: "web", n: 40, guarded: true}, {name: "precious", n: 10, guarded: true}, {name: "free", n: 10}},
		act: func(ctx context.Context, c *cluster) error {
			for _, label := range []string{"web", "precious"} {
				if err := c.addBudget(ctx, label); err != nil {
					return err
				}
			}
			if err := c.taintAll(ctx); err != nil {
				return err
			}
			if err := wait.Pause(ctx, blocked); err != nil {
				return err
			}
			return c.allowDisruptions(ctx, "web", c.groups["web"])
		},
	}
}

// patched: another client patches labels, annotations and the status of the
// same pods all the time, each as fast as it can. It does so from before they
// are tainted until they are gone.
func patched() scenario {
	return scenario{
		name:  "patched",
		title: "another client patches the same pods all the time",
		ours:  []string{"--confirm"}, // where what was confirmed has always changed
		late:  10 * time.Second,
		nodes: 4,
		pods:  []group{{name: "later", n: 20, tolerates: 5 * time.Second}, {name: "at-once", n: 20}},
		act: func(ctx context.Context, c *cluster) error {
			client, err := c.ClientOf("rival")
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			var rivals errgroup.Group
			for _, p := range append(c.groups["later"], c.groups["at-once"]...) {
				rivals.Go(func() error { return rival{client}.patch(ctx, p.name) })
			}
			if err = c.taintAll(ctx); err == nil {
				err = c.awaitNone(ctx, "the patched pods to leave")
			}
			stop()
			if rivalErr := rivals.Wait(); err == nil {
				err = rivalErr
			}
			return err
		},
	}
}
