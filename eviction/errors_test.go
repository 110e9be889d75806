package eviction_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/eviction"
)

// A refusal is an error of the API and its cause. The outcome is that of an
// attempt which ends with the error while the pod is still there.
type refusal struct {
	err     error
	cause   string
	outcome eviction.Outcome
}

// statusError is an error as the API server encodes it.
func statusError(code int32, reason metav1.StatusReason, message string,
	causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Name: "p", Kind: "pods", Causes: causes},
	}}
}

// What kube-apiserver v1.37.1 and client-go say, in their words: they are what
// tells some of these apart.
func apiErrors() map[string]refusal {
	negative := apierrors.NewForbidden(schema.GroupResource{Group: "policy",
		Resource: "poddisruptionbudget"}, "web", errors.New("pdb disruptions allowed is negative"))
	negative.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect",
		syscall.ECONNREFUSED)}
	request := func(err error) error {
		return &url.Error{Op: "Delete", URL: "https://10.0.0.1/api/v1/namespaces/ns/pods/p", Err: err}
	}
	failed := eviction.OutcomeFailed
	return map[string]refusal{
		"a budget":                {budgetError(), "Budget", eviction.OutcomeBlocked},
		"a budget that is broken": {negative, "Budget", eviction.OutcomeBlocked},
		"a webhook": {statusError(403, metav1.StatusReasonForbidden,
			`admission webhook "guard.example.com" denied the request: not today`), "Denied",
			failed},
		"a webhook without a word": {statusError(400, "",
			`admission webhook "guard.example.com" denied the request without explanation`),
			"Denied", failed},
		"a webhook that says 429": {statusError(429, metav1.StatusReasonTooManyRequests,
			`admission webhook "guard.example.com" denied the request: busy`), "Denied", failed},
		"a webhook that says 500": {statusError(500, metav1.StatusReasonInternalError,
			`admission webhook "guard.example.com" denied the request: sorry`), "Denied",
			failed},
		"a policy": {statusError(422, metav1.StatusReasonInvalid,
			`pods "p" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep-all' `+
				`denied request: keep it`, metav1.StatusCause{Message: "keep it"}),
			"Denied", failed},
		"a policy that says 403": {statusError(403, metav1.StatusReasonForbidden,
			`pods "p" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep-all' `+
				`denied request: keep it`), "Denied", failed},
		"a permission": {apierrors.NewForbidden(podResource, "p",
			errors.New(`User "evictor" cannot delete resource "pods" in API group "" `+
				`in the namespace "ns"`)), "Forbidden", failed},
		"a token that has expired": {apierrors.NewUnauthorized("Unauthorized"),
			"Forbidden", failed},
		"load": {apierrors.NewTooManyRequests("too many", 1),
			"Overloaded", failed},
		"load, without a body": {apierrors.NewGenericServerResponse(429, "DELETE", podResource,
			"p", "Too many requests, please try again later.", 0, true), "Overloaded", failed},
		"a conflict": {apierrors.NewConflict(podResource, "p",
			errors.New("the object has been modified")), "Conflict", failed},
		"a conflict, without a body": {apierrors.NewGenericServerResponse(409, "POST", podResource, "p",
			"", 0, true), "Conflict", failed},
		"an invalid request": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil),
			"Invalid", failed},
		"a bad request": {apierrors.NewBadRequest(
			"name in URL does not match name in Eviction object"), "Invalid", failed},
		"a fault": {apierrors.NewInternalError(errors.New("etcdserver: no leader")),
			"Server", failed},
		"two budgets": {statusError(500, "",
			"This pod has more than one PodDisruptionBudget, "+
				"which the eviction subresource does not support."), "Server", failed},
		"a webhook that fails": {apierrors.NewInternalError(
			errors.New(`failed calling webhook "guard.example.com": connection refused`)),
			"Server", failed},
		"a server that stops": {apierrors.NewServiceUnavailable("apiserver is shutting down"),
			"Server", failed},
		"a timeout of the server": {apierrors.NewTimeoutError(
			"couldn't update PodDisruptionBudget \"web\" due to conflicts", 10), "Timeout",
			failed},
		"a timeout of a gateway": {apierrors.NewGenericServerResponse(504, "DELETE", podResource,
			"p", "", 0, true), "Timeout", failed},
		"a method that is not there": {apierrors.NewMethodNotSupported(podResource, "evict"),
			"Other", failed},
		"the end of a context": {request(context.DeadlineExceeded), "Timeout", failed},
		"the end of our run":   {request(context.Canceled), "Timeout", failed},
		"a read that takes too long": {request(&net.OpError{Op: "read", Net: "tcp",
			Err: os.ErrDeadlineExceeded}), "Timeout", failed},
		"no server listens":        {request(refused), "Unreachable", failed},
		"a connection that is cut": {request(io.ErrUnexpectedEOF), "Unreachable", failed},
		"a name that does not exist": {request(&net.OpError{Op: "dial", Err: &net.DNSError{
			Err: "no such host", Name: "api", IsNotFound: true}}), "Unreachable", failed},
		"a certificate of a stranger": {request(x509.UnknownAuthorityError{}), "Unreachable",
			failed},
		"something else": {errors.New("no idea"), "Other", failed},
	}
}

func TestCauseOf(t *testing.T) {
	require.Empty(t, eviction.CauseOf(nil))
	reached := map[string]bool{}
	for name, test := range apiErrors() {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.cause, eviction.CauseOf(test.err))
			require.Equal(t, test.cause, eviction.CauseOf(fmt.Errorf("delete pod ns/p: %w", test.err)))
		})
		reached[test.cause] = true
	}
	require.Len(t, reached, 10, "all but none")
}

// The same through a real client and a connection: what it makes of answers,
// and of there being none.
func TestCauseOfWhatAClientReturns(t *testing.T) {
	answer := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	budget := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,
		"message":"Cannot evict pod as it would violate the pod's disruption budget.",
		"details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget web needs 3 healthy pods and has 3 currently"}]}}`
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		cause   string
	}{
		"flow control": {answer(429, "text/plain; charset=utf-8",
			"Too many requests, please try again later.\n"), "Overloaded"},
		"a budget":       {answer(429, "application/json", budget), "Budget"},
		"a proxy":        {answer(502, "text/html", "<html>bad gateway</html>"), "Server"},
		"another proxy":  {answer(404, "text/html", "<html>no such page</html>"), "Other"},
		"a slow gateway": {answer(504, "text/html", "<html>too slow</html>"), "Timeout"},
		"a hand that cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"Unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			err := clientOf(t, server.URL, nil).EvictV1(t.Context(), evictionOf("p"))
			require.Equal(t, test.cause, eviction.CauseOf(err), "%v", err)
		})
	}
	t.Run("no server", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		err := clientOf(t, server.URL, nil).EvictV1(t.Context(), evictionOf("p"))
		require.Equal(t, "Unreachable", eviction.CauseOf(err), "%v", err)
	})
}
