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
	cause   eviction.Cause
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
		"a budget":                {budgetError(), eviction.CauseBudget, eviction.OutcomeBlocked},
		"a budget that is broken": {negative, eviction.CauseBudget, eviction.OutcomeBlocked},
		"a webhook": {statusError(403, metav1.StatusReasonForbidden,
			`admission webhook "guard.example.com" denied the request: not today`), eviction.CauseDenied,
			failed},
		"a webhook without a word": {statusError(400, "",
			`admission webhook "guard.example.com" denied the request without explanation`),
			eviction.CauseDenied, failed},
		"a webhook that says 429": {statusError(429, metav1.StatusReasonTooManyRequests,
			`admission webhook "guard.example.com" denied the request: busy`), eviction.CauseDenied, failed},
		"a webhook that says 500": {statusError(500, metav1.StatusReasonInternalError,
			`admission webhook "guard.example.com" denied the request: sorry`), eviction.CauseDenied,
			failed},
		"a policy": {statusError(422, metav1.StatusReasonInvalid,
			`pods "p" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep-all' `+
				`denied request: keep it`, metav1.StatusCause{Message: "keep it"}),
			eviction.CauseDenied, failed},
		"a policy that says 403": {statusError(403, metav1.StatusReasonForbidden,
			`pods "p" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep-all' `+
				`denied request: keep it`), eviction.CauseDenied, failed},
		"a permission": {apierrors.NewForbidden(podResource, "p",
			errors.New(`User "evictor" cannot delete resource "pods" in API group "" `+
				`in the namespace "ns"`)), eviction.CauseForbidden, failed},
		"a token that has expired": {apierrors.NewUnauthorized("Unauthorized"),
			eviction.CauseForbidden, failed},
		"load": {apierrors.NewTooManyRequests("too many", 1),
			eviction.CauseOverloaded, failed},
		"load, without a body": {apierrors.NewGenericServerResponse(429, "DELETE", podResource,
			"p", "Too many requests, please try again later.", 0, true), eviction.CauseOverloaded, failed},
		"a conflict": {apierrors.NewConflict(podResource, "p",
			errors.New("the object has been modified")), eviction.CauseConflict, failed},
		"a conflict, without a body": {apierrors.NewGenericServerResponse(409, "POST", podResource, "p",
			"", 0, true), eviction.CauseConflict, failed},
		"an invalid request": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil),
			eviction.CauseInvalid, failed},
		"a bad request": {apierrors.NewBadRequest(
			"name in URL does not match name in Eviction object"), eviction.CauseInvalid, failed},
		"a fault": {apierrors.NewInternalError(errors.New("etcdserver: no leader")),
			eviction.CauseServer, failed},
		"two budgets": {statusError(500, "",
			"This pod has more than one PodDisruptionBudget, "+
				"which the eviction subresource does not support."), eviction.CauseServer, failed},
		"a webhook that fails": {apierrors.NewInternalError(
			errors.New(`failed calling webhook "guard.example.com": connection refused`)),
			eviction.CauseServer, failed},
		"a server that stops": {apierrors.NewServiceUnavailable("apiserver is shutting down"),
			eviction.CauseServer, failed},
		"a timeout of the server": {apierrors.NewTimeoutError(
			"couldn't update PodDisruptionBudget \"web\" due to conflicts", 10), eviction.CauseTimeout,
			failed},
		"a timeout of a gateway": {apierrors.NewGenericServerResponse(504, "DELETE", podResource,
			"p", "", 0, true), eviction.CauseTimeout, failed},
		"a method that is not there": {apierrors.NewMethodNotSupported(podResource, "evict"),
			eviction.CauseOther, failed},
		"the end of a context": {request(context.DeadlineExceeded), eviction.CauseTimeout, failed},
		"the end of our run":   {request(context.Canceled), eviction.CauseTimeout, failed},
		"a read that takes too long": {request(&net.OpError{Op: "read", Net: "tcp",
			Err: os.ErrDeadlineExceeded}), eviction.CauseTimeout, failed},
		"no server listens":        {request(refused), eviction.CauseUnreachable, failed},
		"a connection that is cut": {request(io.ErrUnexpectedEOF), eviction.CauseUnreachable, failed},
		"a name that does not exist": {request(&net.OpError{Op: "dial", Err: &net.DNSError{
			Err: "no such host", Name: "api", IsNotFound: true}}), eviction.CauseUnreachable, failed},
		"a certificate of a stranger": {request(x509.UnknownAuthorityError{}), eviction.CauseUnreachable,
			failed},
		"something else": {errors.New("no idea"), eviction.CauseOther, failed},
	}
}

func TestCauseOf(t *testing.T) {
	require.Equal(t, eviction.CauseNone, eviction.CauseOf(nil))
	reached := map[eviction.Cause]bool{}
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
		cause   eviction.Cause
	}{
		"flow control": {answer(429, "text/plain; charset=utf-8",
			"Too many requests, please try again later.\n"), eviction.CauseOverloaded},
		"a budget":       {answer(429, "application/json", budget), eviction.CauseBudget},
		"a proxy":        {answer(502, "text/html", "<html>bad gateway</html>"), eviction.CauseServer},
		"another proxy":  {answer(404, "text/html", "<html>no such page</html>"), eviction.CauseOther},
		"a slow gateway": {answer(504, "text/html", "<html>too slow</html>"), eviction.CauseTimeout},
		"a hand that cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			eviction.CauseUnreachable},
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
		require.Equal(t, eviction.CauseUnreachable, eviction.CauseOf(err), "%v", err)
	})
}
