package simulation

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

// fault is what goes wrong with some of the calls, for a time.
type fault struct {
	until time.Duration
	rate  float64
}

// faults are those of the network and of the API server.
type faults struct {
	errors    fault // nothing is done, and an error says so or not
	lost      fault // it is done, and the answer is lost
	conflicts fault // a write is refused with 409
	slow      fault // a call takes up to a minute
	quota     fault // pods cannot be created
	notNow    fault // something else comes before a creation or deletion
	inPlace   fault // a rollout updates running pods in place
	late      [invariant.Kinds]lateness
}

// lateness is how late the watches of a kind are.
type lateness struct{ until, by time.Duration }

var errReset = errors.New("read: connection reset by peer")

func (c *cluster) strikes(f fault) bool { return c.Elapsed() < f.until && c.random.Float64() < f.rate }

// refusal returns why the API server, or something before it, does not do what
// a request asks for. It is nil if it is done.
func (c *cluster) refusal(f *faults, r *request) error {
	resource := resourceOf(r.kind).GroupResource()
	switch {
	case r.verb == verbCreate && r.kind == invariant.Pods && c.strikes(f.quota):
		return apierrors.NewForbidden(resource, r.name, errors.New("exceeded quota"))
	case (r.verb == verbPatch || r.verb == verbDelete) && c.strikes(f.conflicts):
		return apierrors.NewConflict(resource, r.name, errors.New("the object has been modified"))
	case !c.strikes(f.errors):
		return nil
	}
	switch c.random.IntN(6) {
	case 0:
		return errReset
	case 1:
		return apierrors.NewTooManyRequests("too many requests", 1)
	case 2:
		return apierrors.NewServerTimeout(resource, string(r.verb), 1)
	case 3:
		// A proxy that has no backend answers so.
		return apierrors.NewGenericServerResponse(http.StatusNotFound, string(r.verb), resource, r.name,
			"404 page not found", 0, true)
	case 4:
		return apierrors.NewServiceUnavailable("the API server is shutting down")
	}
	return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
}

// lostAnswer returns what a client has instead of an answer.
func (c *cluster) lostAnswer() error {
	switch c.random.IntN(3) {
	case 0:
		return context.DeadlineExceeded
	case 1:
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	return errReset
}

// trip returns how long a call takes to the API server or back.
func (c *cluster) trip(f *faults) time.Duration {
	if c.strikes(f.slow) {
		return c.between(time.Second, 40*time.Second)
	}
	return c.between(time.Millisecond, 20*time.Millisecond)
}

// watchDelay returns how late a change is shown.
func (c *cluster) watchDelay(f *faults, kind invariant.Kind) time.Duration {
	if late := f.late[kind]; c.Elapsed() < late.until {
		return c.between(late.by/4, late.by)
	}
	return c.between(time.Millisecond, 50*time.Millisecond)
}
