package eviction

import "net/http"

// WithoutRetryAfter returns a transport that removes the header Retry-After
// from the responses of another transport. Pass it to rest.Config.Wrap of the
// client that evicts.
//
// client-go retries a request up to ten times while its responses have that
// header, and sleeps in between. The worker would block other evictions for as
// long. Without the header the response returns at once, and the pod waits in
// the tracker's heap. If the response is a Status it contains the time as well,
// and Deleter and Evictor respect it. A response of flow control is plain text:
// the pod waits as Config.Backoff says.
func WithoutRetryAfter(transport http.RoundTripper) http.RoundTripper {
	return withoutRetryAfter{transport}
}

type withoutRetryAfter struct{ http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport whose connections it
// closes.
func (t withoutRetryAfter) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip calls the other transport and removes the header from its response.
func (t withoutRetryAfter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
