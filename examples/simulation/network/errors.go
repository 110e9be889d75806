package network

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrConnection is what a client gets when no server listens.
var ErrConnection = errors.New("connection refused")

// errTimeout is what a client gets when an answer does not come.
var errTimeout error = timeout{}

// timeout says that it is one, as the error of net/http does.
type timeout struct{}

func (timeout) Error() string { return "timeout awaiting response headers" }

// Timeout is what callers ask.
func (timeout) Timeout() bool { return true }

// errReset is what a client gets when a connection breaks.
var errReset = errors.New("read: connection reset by peer")

const (
	notFoundCode       = 404
	gatewayTimeoutCode = 504
)

// scripted is the error that a scenario asks for. A 404 comes from a proxy: its
// body is no Status, and client-go marks it as an unexpected response.
func scripted(call *Call, code int) error {
	if code == 0 {
		return errReset
	}
	const why = "the scenario says so"
	if code == notFoundCode {
		resource := call.Kind.Resource().GroupResource()
		return apierrors.NewGenericServerResponse(code, string(call.Verb), resource, call.Name, why, 0, true)
	}
	return failure(call, code, why)
}

// failure is an error with a status code.
func failure(call *Call, code int, why string) error {
	resource := call.Kind.Resource().GroupResource()
	return apierrors.NewGenericServerResponse(code, string(call.Verb), resource, call.Name, why, 0, false)
}
