package controlplane

import (
	"strings"
	"time"
)

// Request is one request that the API server received, as its audit log tells
// it.
type Request struct {
	// ID is the server's own; a client that repeats a request makes another one.
	ID string
	// Verb is Kubernetes' (get, list, watch, create, update, patch, delete,
	// deletecollection), or the HTTP method in lower case when the request is for
	// no resource.
	Verb string
	// Group is empty for the core group. Subresource is empty for the object
	// itself.
	Group, Resource, Subresource string
	// Namespace and Name are those of the object or, for lists and watches, of the
	// request's path. A create that failed may have no name.
	Namespace, Name string
	// URI is the path and query.
	URI             string
	User, UserAgent string
	// Code is the HTTP status of the answer. It is 0 if the server was killed
	// before it logged one; its client may still have got it.
	Code int
	// Received and Answered are by the server's clock, which is the test's, in
	// microseconds. Answered is the time before the headers of a watch were sent,
	// and the time after anything else was done. Zero when Code is 0.
	Received, Answered time.Time
}

// Object names the object: namespace/name, or the name alone for objects
// without a namespace.
func (r Request) Object() string {
	if r.Namespace == "" || (r.Resource == "namespaces" && r.Namespace == r.Name) {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// FullResource names the resource as in RBAC: "pods", or "pods/status" for a
// subresource.
func (r Request) FullResource() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// Succeeded reports whether the server has done what was requested.
func (r Request) Succeeded() bool { return r.Code >= 200 && r.Code < 300 }

// Filter selects requests. An empty field selects all, so the zero Filter
// selects everything.
type Filter struct {
	// UserAgent is how the user agent begins: nodelifecycle selects
	// "nodelifecycle/v1 (linux/amd64) kubernetes/$Format".
	UserAgent string
	User      string
	Verb      string
	// Resource is written as in RBAC: "pods" is the objects, "pods/status" their
	// status, "*" both and everything else of any resource. A request for no
	// resource, as for /readyz, is selected by the empty string only.
	Resource  string
	Namespace string
	Name      string
	// Since excludes requests received before it.
	Since time.Time
}

// Matches says whether the filter selects the request.
func (f Filter) Matches(r Request) bool {
	return strings.HasPrefix(r.UserAgent, f.UserAgent) &&
		selects(f.User, r.User) &&
		selects(f.Verb, r.Verb) &&
		(selects(f.Resource, r.FullResource()) || f.Resource == "*" && r.Resource != "") &&
		selects(f.Namespace, r.Namespace) &&
		selects(f.Name, r.Name) &&
		!r.Received.Before(f.Since)
}

func selects(wanted, actual string) bool { return wanted == "" || wanted == actual }

// CountBy counts requests by a key, for example by [Request.Object].
func CountBy(requests []Request, key func(Request) string) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		counts[key(request)]++
	}
	return counts
}
