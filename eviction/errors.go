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

// ErrInvalidConfig is wrapped by the errors of this package's constructors.
var ErrInvalidConfig = errors.New("invalid eviction config")

// The causes of failed attempts.
const (
	causeNone        = ""
	causeBudget      = "Budget"
	causeOverloaded  = "Overloaded"
	causeDenied      = "Denied"
	causeForbidden   = "Forbidden"
	causeConflict    = "Conflict"
	causeInvalid     = "Invalid"
	causeTimeout     = "Timeout"
	causeServer      = "Server"
	causeUnreachable = "Unreachable"
	causeOther       = "Other"
)

// CauseOf returns one word for the error of an API call, for logs and metrics.
// The error may be wrapped.
//
//	(empty)      there is no error
//	Budget       a PodDisruptionBudget does not allow it now
//	Overloaded   the API server is overloaded, or throttles this client
//	Denied       an admission webhook or policy has denied the request
//	Forbidden    the client lacks a permission
//	Conflict     the pod, or another object, changed before the write
//	Invalid      the API server considers the request invalid
//	Timeout      the response did not come in time; the write may have happened
//	Server       the API server failed
//	Unreachable  the API server cannot be reached
//	Other        everything else
//
// An eviction is retried whatever the cause is, with a growing wait, because
// each can pass: a permission is granted, a policy is removed, a server
// recovers.
func CauseOf(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return causeNone
	case errors.As(err, &status):
		return causeOfStatus(err, status.Status())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), isTimeout(err):
		return causeTimeout
	case isNetwork(err):
		return causeUnreachable
	}
	return causeOther
}

func causeOfStatus(err error, status metav1.Status) string {
	switch {
	case isBudget(err):
		return causeBudget
	case isDenied(status):
		return causeDenied
	case status.Code == http.StatusTooManyRequests:
		return causeOverloaded
	case status.Code == http.StatusForbidden, status.Code == http.StatusUnauthorized:
		return causeForbidden
	case status.Code == http.StatusConflict:
		return causeConflict
	case status.Code == http.StatusUnprocessableEntity, status.Code == http.StatusBadRequest:
		return causeInvalid
	case status.Code == http.StatusGatewayTimeout, status.Code == http.StatusRequestTimeout:
		return causeTimeout
	case status.Code >= http.StatusInternalServerError:
		return causeServer
	}
	return causeOther
}

// SaysGone reports whether the API server says that the object does not exist.
// A 404 alone is not enough: it may come from a proxy, a webhook, or a server
// without the Eviction API. What is to be done to the object would be lost then.
func SaysGone(err error) bool {
	return apierrors.IsNotFound(err) && CauseOf(err) == causeOther &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// isBudget reports whether a PodDisruptionBudget has refused an eviction. The
// API server states it in a cause of the status; a 429 without that cause is
// about load. kube-apiserver v1.37.1 does so even before it has seen the
// budget's status.
func isBudget(err error) bool {
	return apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// isDenied reports whether admission has denied a request. The status has no
// field for it, and the code is no evidence. A webhook chooses its code, a
// policy answers 422 by default, and a missing permission is a 403 like a
// webhook's. Only the message of kube-apiserver v1.37 is reliable.
func isDenied(status metav1.Status) bool {
	return strings.Contains(status.Message, "denied the request") ||
		strings.Contains(status.Message, "denied request")
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network)
}
