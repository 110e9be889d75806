package model

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errConnection is what a client gets when no server listens.
var errConnection = errors.New("connection refused")

// errTimeout is what a client gets when an answer does not come.
var errTimeout = errors.New("timeout awaiting response headers")

func resource(call *Call) schema.GroupResource {
	if call.Kind == Leases {
		return schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	}
	return schema.GroupResource{Resource: call.Kind.String()}
}

func notFound(call *Call) error { return apierrors.NewNotFound(resource(call), call.Name) }

func conflict(call *Call, why string) error {
	return apierrors.NewConflict(resource(call), call.Name, errors.New(why))
}

// invalid is how kube-apiserver v1.37.1 answers a failed test of a JSON Patch:
// 422 without causes.
func invalid(call *Call, why string) error {
	return failure(call, 422, why)
}

const notFoundCode = 404

// scripted is the error that a scenario asks for. A 404 comes from a proxy: its
// body is no Status, and client-go marks it as an unexpected response.
func scripted(call *Call, code int) error {
	const why = "the scenario says so"
	if code == notFoundCode {
		return apierrors.NewGenericServerResponse(code, string(call.Verb), resource(call), call.Name, why, 0, true)
	}
	return failure(call, code, why)
}

// failure is an error with a status code.
func failure(call *Call, code int, why string) error {
	return apierrors.NewGenericServerResponse(code, string(call.Verb), resource(call), call.Name, why, 0, false)
}
