package eviction

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cause says why an attempt has failed, for logs and metrics. All are tried again,
// with a wait that grows, because each can pass: a permission is granted, a policy
// is lifted, a server comes back.
type Cause string

const (
	// CauseNone: there is no error.
	CauseNone Cause = ""
	// CauseBudget: a PodDisruptionBudget does not allow it now.
	CauseBudget Cause = "Budget"
	// CauseOverloaded: the API server has too much to do, or says so to this client.
	CauseOverloaded Cause = "Overloaded"
	// CauseDenied: an admission webhook or policy has refused it.
	CauseDenied Cause = "Denied"
	// CauseForbidden: the client lacks a permission.
	CauseForbidden Cause = "Forbidden"
	// CauseConflict: the pod has changed, or something else has, while it was written.
	CauseConflict Cause = "Conflict"
	// CauseInvalid: the API server takes the request for wrong.
	CauseInvalid Cause = "Invalid"
	// CauseTimeout: there was no answer in time. What was asked for may have happened.
	CauseTimeout Cause = "Timeout"
	// CauseServer: the API server has failed.
	CauseServer Cause = "Server"
	// CauseUnreachable: the API server could not be reached.
	CauseUnreachable Cause = "Unreachable"
	// CauseOther is everything else.
	CauseOther Cause = "Other"
)

// CauseOf returns the cause of an error that an API call has returned, wrapped or
// not.
func CauseOf(err error) Cause {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return CauseNone
	case errors.As(err, &status):
		return causeOfStatus(err, status.Status())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), isTimeout(err):
		return CauseTimeout
	case isNetwork(err):
		return CauseUnreachable
	}
	return CauseOther
}

func causeOfStatus(err error, status metav1.Status) Cause {
	switch {
	case isBudget(err):
		return CauseBudget
	case isDenied(status):
		return CauseDenied
	case status.Code == http.StatusTooManyRequests:
		return CauseOverloaded
	case status.Code == http.StatusForbidden, status.Code == http.StatusUnauthorized:
		return CauseForbidden
	case status.Code == http.StatusConflict:
		return CauseConflict
	case status.Code == http.StatusUnprocessableEntity, status.Code == http.StatusBadRequest:
		return CauseInvalid
	case status.Code == http.StatusGatewayTimeout, status.Code == http.StatusRequestTimeout:
		return CauseTimeout
	case status.Code >= http.StatusInternalServerError:
		return CauseServer
	}
	return CauseOther
}

// isBudget reports whether a PodDisruptionBudget has refused an eviction. The API
// server says that in a cause of the status; a 429 without it is about load. So it is
// with kube-apiserver v1.37.1, also when it has not seen the budget's status yet.
func isBudget(err error) bool {
	return apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// isDenied reports whether admission has refused a request. The status has no field
// for that: a webhook answers with a code of its choice, a policy with 422 unless it
// says otherwise, and a missing permission is a 403 like the one of a webhook. What
// is certain is the words that kube-apiserver v1.37 puts around the refusal.
func isDenied(status metav1.Status) bool {
	return strings.Contains(status.Message, "denied the request") || strings.Contains(status.Message, "denied request")
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network)
}
