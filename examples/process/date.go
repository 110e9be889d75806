package process

import (
	"net/http"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// dates passes the time of day on that the API server tells in its answers.
// What takes it is not there yet when the client is made.
type dates struct {
	// told is called with the Date header of an answer, and when the request was
	// sent. Nil does nothing.
	told func(sent, date time.Time)
}

// transport wraps a client's transport.
func (d *dates) transport(inner http.RoundTripper) http.RoundTripper {
	return eviction.WithDates(inner, func(sent, date time.Time) {
		if d.told != nil {
			d.told(sent, date)
		}
	})
}
