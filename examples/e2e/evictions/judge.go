package evictions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// Counts is the verdict. Each pod that must be evicted is either Evicted,
// Early, Lost, one of the Wrong, or one of the Late that another client has
// deleted.
type Counts struct {
	// Must is how many pods have to be evicted.
	Must int
	// Evicted is how many of them were, when they were due or later.
	Evicted int
	// Early is how many were evicted before they were due.
	Early int
	// Late is how many of the Evicted came too late, or were so late that another
	// client's deletion came first. Latest is how late the last of the Evicted
	// was.
	Late   int
	Latest time.Duration
	// Lost is how many are still there.
	Lost int
	// Wrong is how many were evicted that must stay, or before their budget
	// allowed it.
	Wrong int
}

// lost is how long after it must and can leave a pod that is still there is
// given up.
const lost = time.Minute

var (
	errUnexplained = errors.New("no request explains that it left")
	errTooSoon     = errors.New("the history ends too soon to tell whether it is lost")
)

// count judges pods whose history ends now. What leaves later than late after
// it must and can is late. It fails when the history does not allow a verdict.
func count(pods []*pod, late time.Duration, now time.Time) (*Counts, error) {
	var counts Counts
	for _, p := range pods {
		if err := counts.add(p, late, now); err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.name, err)
		}
	}
	return &counts, nil
}

func (n *Counts) add(p *pod, late time.Duration, now time.Time) error {
	from := latest(p.due, p.allowed, p.possible) // lateness counts from then on
	after := p.left.Sub(from)
	gone := !p.left.IsZero()
	evicted := gone && p.by == sidebyside.User
	switch {
	case p.due.IsZero():
		if evicted {
			n.Wrong++
		}
		return nil
	case !gone && now.Before(from.Add(lost)):
		return errTooSoon
	case gone && !evicted && after <= late:
		return nil // a deletion by another client before it is too late ends the duty
	}
	n.Must++
	switch {
	case !gone:
		n.Lost++
	case !evicted:
		n.Late++
	case p.left.Before(p.due):
		n.Early++
	case p.left.Before(p.allowed):
		n.Wrong++
	default:
		n.Evicted++
		n.Latest = max(n.Latest, after)
		if after > late {
			n.Late++
		}
	}
	return nil
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// record returns the verdict as rows. A history in which no pod had to be evicted
// proves nothing.
func (n *Counts) record() *sidebyside.Record {
	r := &sidebyside.Record{}
	r.Add("pods that must be evicted", sidebyside.Count, float64(n.Must)).AtLeast(1)
	r.Add("evicted when due or later", sidebyside.Count, float64(n.Evicted)).AtLeast(float64(n.Must))
	r.Add("the last of them after", sidebyside.Seconds, n.Latest.Seconds())
	for _, fault := range []struct {
		what string
		n    int
	}{{"early", n.Early}, {"late", n.Late}, {"lost", n.Lost}, {"wrong", n.Wrong}} {
		r.Add(fault.what, sidebyside.Count, float64(fault.n)).AtMost(0)
	}
	return r
}

// judge counts what has become of the pods so far, by what the API server has:
// which of them are there, and in its audit log who made the others leave, and
// when.
//
// A pod that is terminating counts as gone: a deletion is two writes even
// without a grace period. An API server that is killed between them leaves the
// rest to the kubelet.
func (c *cluster) judge(ctx context.Context) (*Counts, error) {
	list, err := c.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	present := map[types.UID]bool{}
	for i := range list.Items {
		present[list.Items[i].UID] = list.Items[i].DeletionTimestamp == nil
	}
	requests, err := c.Plane.Requests(ctx,
		controlplane.Filter{Verb: "delete", Resource: "pods", Namespace: namespace},
		controlplane.Filter{Verb: "create", Resource: "pods/eviction", Namespace: namespace},
	)
	if err != nil {
		return nil, err
	}
	ends := map[string][]controlplane.Request{} // that ended pods, or may have, by the name of the pod
	for _, r := range requests {
		// Code 0: the API server was killed, and may have done it before.
		if r.Code == 0 || r.Succeeded() {
			ends[r.Name] = append(ends[r.Name], r)
		}
	}
	if err := c.explain(present, ends); err != nil {
		return nil, err
	}
	return count(c.pods, c.scenario.late, time.Now())
}

// explain assigns to each pod that is gone the request that ended it. The
// newest pod of a name comes first: it has the fewest requests that explain its
// end.
func (c *cluster) explain(
	present map[types.UID]bool, ends map[string][]controlplane.Request,
) error {
	next := map[string]time.Time{} // when the next pod of the name was created
	for _, p := range slices.Backward(c.pods) {
		c.oblige(p)
		if !present[p.uid] {
			requests := ends[p.name]
			at := end(requests, p.made, next[p.name])
			if at < 0 {
				return fmt.Errorf("pod %s: %w", p.name, errUnexplained)
			}
			p.left, p.by = latest(p.made, requests[at].Received), requests[at].User
			ends[p.name] = slices.Delete(requests, at, at+1) // a request ends one pod of a name
		}
		next[p.name] = p.made
	}
	return nil
}

// oblige says what should become of a pod, by the rules of the API and without
// what a controller says or does.
func (c *cluster) oblige(p *pod) {
	tainted, isTainted := c.tainted[p.node]
	if !isTainted || p.tolerates == fleet.Forever || p.guarded && p.allowed.IsZero() {
		return
	}
	// It cannot have tolerated the taint before it came.
	p.due = latest(tainted, p.arrived).Add(p.tolerates)
	p.possible = c.free
}

// end returns the index of the request that ended a pod, or -1. The pod was
// made at a time, and the next pod of its name, if there is one, after this one
// was gone. A request whose answer is known explains more than one without.
//
// A deletion by name alone can end a pod that is newer than the request. The
// API server reads the pod after it has received the request, and reads it
// again when it has changed. So a pod may end without a request in its life.
// Then a request of the subject that was under way when the pod was made
// explains the end. The deletions of the scenario carry a UID.
func end(requests []controlplane.Request, made, next time.Time) int {
	within, before := -1, -1
	for i, r := range requests {
		switch {
		case !next.IsZero() && r.Received.After(next):
		case !r.Received.Before(made):
			if within < 0 || r.Code >= requests[within].Code {
				within = i
			}
		case r.User == sidebyside.User && r.Answered.After(made):
			before = i
		}
	}
	if within < 0 {
		return before
	}
	return within
}
