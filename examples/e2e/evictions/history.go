package evictions

import (
	"context"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// duty is what should become of a pod, by the rules of the API and without what
// a controller says or does.
func (c *cluster) duty(p *pod) judge.Duty {
	c.mu.Lock()
	defer c.mu.Unlock()
	tainted, isTainted := c.tainted[p.node]
	if !isTainted || p.tolerates == forever || p.guarded && p.allowed.IsZero() {
		return judge.Duty{}
	}
	start := tainted
	if p.arrived.After(start) {
		start = p.arrived // it cannot have tolerated before it came
	}
	return judge.Duty{Due: start.Add(p.tolerates), Allowed: p.allowed, Possible: c.free}
}

// outstanding returns how many pods are still there that must leave, and by
// when they count as lost.
func (c *cluster) outstanding(ctx context.Context) (int, time.Time, error) {
	present, err := c.present(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	var n int
	var deadline time.Time
	for _, p := range c.known() {
		duty := c.duty(p)
		if duty.Due.IsZero() || !present[p.uid] {
			continue
		}
		n++
		for _, t := range []time.Time{duty.Due, duty.Allowed, duty.Possible} {
			if t = t.Add(lost); t.After(deadline) {
				deadline = t
			}
		}
	}
	return n, deadline, nil
}

// history is the API server's: which pods are there, and from its audit log
// whose request made the others leave, and when.
func (c *cluster) history(ctx context.Context) ([]judge.Case, error) {
	present, err := c.present(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := c.ends(ctx)
	if err != nil {
		return nil, err
	}
	return c.cases(present, ends), nil
}

// cases assigns to each pod that is gone the request that ended it. The newest
// pod of a name comes first: it has the fewest requests that explain its end.
func (c *cluster) cases(
	present map[types.UID]bool, ends map[string][]controlplane.Request,
) []judge.Case {
	next := map[string]time.Time{} // when the next pod of the name was created
	var cases []judge.Case
	for _, p := range slices.Backward(c.known()) {
		life := judge.Life{Pod: namespace + "/" + p.name}
		if !present[p.uid] {
			life.Left = p.made // if no request explains it
			if r, found := end(ends[p.name], p.made, next[p.name]); found {
				life.Left, life.By = later(p.made, r.Received), r.User
				ends[p.name] = without(ends[p.name], r)
			}
		}
		next[p.name] = p.made
		cases = append(cases, judge.Case{Life: life, Duty: c.duty(p)})
	}
	return cases
}

// ends returns the requests that ended pods, or may have, by the name of the
// pod.
func (c *cluster) ends(ctx context.Context) (map[string][]controlplane.Request, error) {
	ends := map[string][]controlplane.Request{}
	for _, filter := range []controlplane.Filter{
		{Verb: "delete", Resource: "pods", Namespace: namespace},
		{Verb: "create", Resource: "pods/eviction", Namespace: namespace},
	} {
		requests, err := c.Plane.Requests(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, r := range requests {
			// Code 0: the API server was killed, and may have done it before.
			if r.Code == 0 || r.Code >= http.StatusOK && r.Code < http.StatusMultipleChoices {
				ends[r.Name] = append(ends[r.Name], r)
			}
		}
	}
	return ends, nil
}

// end returns the request that ended a pod. It was made at a time, and the next
// pod of its name, if there is one, after this one was gone. A request whose
// answer is known explains more than one without.
//
// A deletion by name alone can end a pod that is newer than the request. The
// API server reads the pod after it has received the request, and reads it
// again when it has changed. So a pod may end without a request in its life.
// Then a request of the subject that was under way when the pod was made
// explains the end. The deletions of the scenario carry a UID.
func end(requests []controlplane.Request, made, next time.Time) (controlplane.Request, bool) {
	var within, before controlplane.Request
	for _, r := range requests {
		switch {
		case !next.IsZero() && r.Received.After(next):
		case !r.Received.Before(made):
			if within.ID == "" || r.Code >= within.Code {
				within = r
			}
		case r.User == sidebyside.User && r.Answered.After(made):
			before = r
		}
	}
	if within.ID == "" {
		return before, before.ID != ""
	}
	return within, true
}

// without returns the requests except one. A request ends one pod of a name.
func without(requests []controlplane.Request, spent controlplane.Request) []controlplane.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r controlplane.Request) bool {
		return r.ID == spent.ID
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// awaitEnd waits until every pod that must leave has left or is lost, and then
// for those that leave without having to.
func (c *cluster) awaitEnd(ctx context.Context) error {
	const tail = 3 * time.Second
	if err := c.awaitNone(ctx, "the end"); err != nil {
		return err
	}
	return wait.Pause(ctx, tail)
}

// awaitNone waits until every pod that must leave has left or is lost.
func (c *cluster) awaitNone(ctx context.Context, what string) error {
	return wait.Until(ctx, what, func(ctx context.Context) (bool, error) {
		left, deadline, err := c.outstanding(ctx)
		return err == nil && (left == 0 || time.Now().After(deadline)), err
	})
}
