package fleet

import (
	"io"
	"net/http"
	"path"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// A Beat is a heartbeat that the API server has stored: a renewal of a lease,
// or a status. It was stored after Sent and before Acknowledged.
type Beat struct {
	Node               string
	Sent, Acknowledged time.Time
}

// storing is a connection that tells which heartbeats the API server has
// acknowledged.
type storing struct {
	http.RoundTripper
	stored func(Beat)
}

func (s storing) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := time.Now()
	response, err := s.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		if node := beating(request); node != "" {
			s.stored(Beat{Node: node, Sent: sent, Acknowledged: time.Now()})
		}
	}
	return response, err
}

// beating returns the node of which a request is a heartbeat, or nothing.
func beating(request *http.Request) string {
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	sends := func(method, pattern string) bool {
		matches, err := path.Match(pattern, request.URL.Path)
		return err == nil && matches && request.Method == method
	}
	switch {
	case sends(http.MethodPatch, "/api/v1/nodes/*/status"):
		return path.Base(path.Dir(request.URL.Path))
	case sends(http.MethodPut, leases+"/*"):
		return path.Base(request.URL.Path)
	case sends(http.MethodPost, leases):
		return created(request)
	}
	return ""
}

// created returns the name of the lease that a request creates. Only the body
// has it.
func created(request *http.Request) string {
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	sent, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	lease := &coordinationv1.Lease{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(sent, nil, lease); err != nil {
		return ""
	}
	return lease.Name
}
