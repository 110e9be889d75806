package process

import (
	"net/http"
	"time"
)

// dates reads the time of day that the API server tells in its answers.
type dates struct {
	// told is called with the Date header of an answer, and when the request was
	// sent. Nil does nothing.
	told func(sent, date time.Time)
}

// transport wraps a client's transport.
func (d *dates) transport(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sent := time.Now()
		response, err := inner.RoundTrip(request)
		if err == nil && d.told != nil {
			if date, ok := dateOf(response); ok {
				d.told(sent, date)
			}
		}
		return response, err
	})
}

// dateOf returns the API server's time of day. An answer with an Age comes out
// of a cache. One that says that a server has failed may come from a proxy, which
// has a clock of its own.
func dateOf(response *http.Response) (time.Time, bool) {
	if response.Header.Get("Age") != "" || response.StatusCode >= http.StatusInternalServerError {
		return time.Time{}, false
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	return date, err == nil
}
