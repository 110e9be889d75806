package eviction

import (
	"net/http"
	"time"
)

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

// WithDates returns a transport that sends requests by another transport. It
// passes observe the time of day in each response, and the time at which the
// request was sent. Observe is called on the goroutine of the request; see
// [Tracker.ObserveDate] for what to do with it.
//
// A response out of a cache, with an Age, tells nothing. Nor does one of status
// 500 or above, because it may come from a proxy, which has a clock of its own.
func WithDates(
	transport http.RoundTripper, observe func(sent, date time.Time),
) http.RoundTripper {
	return withDates{transport, observe}
}

type withDates struct {
	http.RoundTripper
	observe func(sent, date time.Time)
}

// WrappedRoundTripper lets client-go find the transport whose connections it
// closes.
func (t withDates) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip calls the other transport and reads the header of its response.
func (t withDates) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := time.Now()
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if date, ok := dateOf(response); ok {
		t.observe(sent, date)
	}
	return response, nil
}

// dateOf returns the time of day that the API server tells in a response.
func dateOf(response *http.Response) (time.Time, bool) {
	if response.Header.Get("Age") != "" || response.StatusCode >= http.StatusInternalServerError {
		return time.Time{}, false
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	return date, err == nil
}
