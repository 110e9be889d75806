package simulation

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
)

// fault is what goes wrong with some of the calls, for a time.
type fault struct {
	until time.Duration
	rate  float64
}

// faults are those of the network and of the API server.
type faults struct {
	errors fault // nothing is done
	lost   fault // it is done, and the answer is lost
	slow   fault // a call takes up to a minute
	late   [invariant.Kinds]lateness
}

// lateness is how late the watch of a kind is.
type lateness struct{ until, by time.Duration }

var errReset = errors.New("read: connection reset by peer")

func (c *cluster) strikes(f fault) bool { return c.Elapsed() < f.until && c.random.Float64() < f.rate }

// refusal returns an error of the API server, or of something before it, that
// does nothing.
func (c *cluster) refusal(name string) error {
	resource := resourceOf(invariant.Pods).GroupResource()
	switch c.random.IntN(6) {
	case 0:
		return errReset
	case 1:
		return apierrors.NewTooManyRequests("too many requests", 1)
	case 2:
		return apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
	case 3:
		// A proxy that has no backend answers so.
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", resource, name,
			"404 page not found", 0, true)
	case 4:
		return apierrors.NewServiceUnavailable("the API server is shutting down")
	default:
		return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	}
}

// lostAnswer returns what a client has instead of an answer.
func (c *cluster) lostAnswer() error {
	if c.random.IntN(2) == 0 {
		return context.DeadlineExceeded
	}
	return errReset
}

// trip returns how long a call takes to the API server or back.
func (c *cluster) trip(f *faults) time.Duration {
	if c.strikes(f.slow) {
		return c.between(time.Second, slowest)
	}
	return c.between(time.Millisecond, 20*time.Millisecond)
}

// slowest is how long a call takes at the most, one way. Some are given up.
const slowest = 40 * time.Second

// watchDelay returns how late a change is shown.
func (c *cluster) watchDelay(f *faults, kind invariant.Kind) time.Duration {
	if late := f.late[kind]; c.Elapsed() < late.until {
		return c.between(late.by/4, late.by)
	}
	return c.between(time.Millisecond, 50*time.Millisecond)
}

// faulty records a time from now in which something is wrong, of a node or of
// all.
func (c *cluster) faulty(node, what string, period time.Duration) {
	c.history.Faults = append(c.history.Faults, invariant.Fault{
		Node: node, What: what, From: c.Now(), To: c.Now().Add(period),
	})
}
