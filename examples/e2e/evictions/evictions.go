// Package evictions measures what goes wrong while pods are evicted because of
// taints: six ways to lose a pod. The subjects are ours
// (examples/tainteviction) and kube-controller-manager's
// taint-eviction-controller.
//
// # How it judges
//
// Nodes and pods are plain objects: nothing runs, and a deleted pod is gone at
// once. Which pod is due when follows from what was put there and when, by a
// formula of one line in history.go. When it left, and by which request, is in
// the audit log of the API server. Package judge compares the two.
//
// A DELETE by name may be received before a pod is made and remove it all the
// same: the API server reads the pod later. Upstream sends no UID, so such pods
// count as evicted by it. A pod that left without a request of this or another
// kind makes its cell one that cannot be judged.
package evictions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Plays six ways to lose a pod with examples/tainteviction and kube-controller-manager v1.37.1
on a real API server. Counts the pods that are evicted early, late, wrongly or not at all.

  go -C examples/e2e run ./measure evictions                                  all: about six minutes
  go -C examples/e2e run ./measure evictions --scenario patched --subject ours
  go -C examples/e2e run ./measure evictions --ours=--confirm                 more flags for ours
`

// Run measures evictions as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return measurement().Run(ctx, args, out, diagnostics)
}

// Alone, the taint-eviction-controller of v1.37.1 does not see the pods of a
// node that is tainted ("Index with name spec.nodeName does not exist"). It
// lives on an index that another controller adds to the informer of both. That
// is the node-lifecycle-controller or the daemonset-controller. The latter does
// nothing where there is no DaemonSet.
const upstreamControllers = "taint-eviction-controller,daemonset-controller"

// lost is how long after it must and can leave a pod is given up.
const lost = time.Minute

func measurement() *sidebyside.Measurement[scenario, judge.Counts] {
	// The limits of requests are so high that no scenario meets them.
	flags := []string{
		"--leader-elect=false", "--secure-port=0", "--v=2", "--kube-api-qps=1000", "--kube-api-burst=1000",
	}
	var ours string
	return &sidebyside.Measurement[scenario, judge.Counts]{
		Name: "evictions", Help: help, Scenarios: scenarios(),
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("tainteviction", flags...),
			sidebyside.Upstream(upstreamControllers, flags...),
		},
		Repetitions: 1, Parallel: 2, Longest: 10 * time.Minute, // the longest scenario takes two
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&ours, "ours", "", "space-separated `flags` for our program, on top of those of the scenario")
		},
		Check: func(c *sidebyside.Choice[scenario]) error {
			for i := range c.Scenarios {
				c.Scenarios[i].ours = slices.Concat(c.Scenarios[i].ours, strings.Fields(ours))
			}
			return nil
		},
		Play: play, Corner: "while pods are evicted", Show: show, Legend: func() string { return legend },
		Faults: faults,
	}
}

// play sets the scene, plays the scenario until nothing stands in the way of
// evictions any more, waits for its end, and counts.
func play(ctx context.Context, p *sidebyside.Play[scenario]) (*judge.Counts, error) {
	var args []string
	if p.Subject.Name == sidebyside.Ours {
		args = p.Scenario.ours
	}
	c := &cluster{Stage: p.Stage, tainted: map[string]time.Time{}}
	var err error
	if c.running, err = p.Launch(args...); err != nil {
		return nil, err
	}
	if err := c.awaitCanary(ctx); err != nil {
		return nil, err
	}
	p.Say("the subject evicts")
	if err := c.set(ctx, p.Scenario); err != nil {
		return nil, err
	}
	if err := p.Scenario.act(ctx, c); err != nil {
		return nil, err
	}
	if err := c.awaitEnd(ctx); err != nil {
		return nil, err
	}
	if err := c.running.Alive(); err != nil {
		return nil, err
	}
	cases, err := c.history(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := judge.Count(cases, judge.Rules{
		Subject: sidebyside.User, Late: p.Scenario.late, Lost: lost, At: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	p.Say("%s", show(&counts))
	return &counts, nil
}

// show is a verdict in a few words: what is not flawless in bold.
func show(n *judge.Counts) string {
	text := fmt.Sprintf("%d of %d", n.Evicted, n.Must)
	if n.Evicted > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	var faults []string
	for _, fault := range []struct {
		n    int
		what string
	}{{n.Early, "early"}, {n.Late, "late"}, {n.Lost, "lost"}, {n.Wrong, "wrong"}} {
		if fault.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", fault.n, fault.what))
		}
	}
	if len(faults) == 0 {
		return text
	}
	return text + "; **" + strings.Join(faults, ", ") + "**"
}

func faults(n *judge.Counts, _ bool) error {
	if n.Clean() {
		return nil
	}
	return errors.New(strings.ReplaceAll(show(n), "**", ""))
}

const legend = `Pods evicted when they were due or later, of those that had to be, and how long after that the last of them was; what was
in the way (a refusal, an outage, a budget) is over before that time counts. Early, late, lost (still there a minute later) and
wrong (evicted although they must stay, or before their budget allows it) are zero where they are not named. A pod that
its owner deletes before it is due need not be evicted; so numbers of recreated ones differ. Upstream's controller deletes
pods and asks for no budget, as documented: that it counts as wrong there is no fault of it.
`
