package eviction

import "net/http"

// WithoutRetryAfter returns a transport that drops the header Retry-After from the
// answers of another one. client-go tries a request again by itself, up to ten times,
// as long as its answers have that header, and sleeps in between: a worker that evicts
// would be of no use to other pods for as long. Without the header the answer comes
// back at once, and the pod waits where a million can. If the answer is a Status the
// time is in that too, and Delete and Evict heed it. That of flow control is plain text:
// then the pod waits for as long as Config.Retry says.
//
// It is for rest.Config.Wrap, of the configuration of the client that evicts.
func WithoutRetryAfter(transport http.RoundTripper) http.RoundTripper {
	return withoutRetryAfter{transport}
}

type withoutRetryAfter struct{ http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport whose connections it closes.
func (t withoutRetryAfter) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip is that of the other transport, but for the header of the answer.
func (t withoutRetryAfter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
