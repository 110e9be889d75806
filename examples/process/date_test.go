package process

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// What takes the dates comes after the client, and until then nothing is told.
func TestE2DatesWithoutAReaderAreDropped(t *testing.T) {
	d, calls := &dates{}, 0
	client := d.transport(roundTripper(func(*http.Request) (*http.Response, error) {
		header := http.Header{"Date": {"Mon, 03 Feb 2031 04:05:06 GMT"}}
		return &http.Response{Header: header, StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	for want := range 2 {
		response, err := client.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, calls)
		d.told = func(time.Time, time.Time) { calls++ }
	}
}

// E2: a program is told the Date header of real answers, whether it elects a
// leader or not.
func TestE2RunTellsTheDateOfTheAPIServer(t *testing.T) {
	for _, elect := range []bool{true, false} {
		t.Run(fmt.Sprintf("elect=%v", elect), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Date", "Mon, 03 Feb 2031 04:05:06 GMT")
				fmt.Fprint(w, `{"major": "1"}`)
			}))
			defer server.Close()
			w := newWorker()
			close(w.ready)
			p := w.program(t, elect)
			p.Replica.LeaderElection.RetryPeriod = 10 * time.Millisecond
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			told := make(chan time.Time, 1)
			p.Connect = func(context.Context, Clients) (*Service, error) {
				service := w.service()
				service.Dated = func(sent, date time.Time) {
					if !time.Now().Before(sent) {
						select {
						case told <- date:
						default:
						}
					}
				}
				return service, nil
			}
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx, &rest.Config{Host: server.URL}) }()
			select {
			case date := <-told:
				require.Equal(t, 2031, date.Year())
			case err := <-ended:
				t.Fatal(err)
			}
			stop()
			require.NoError(t, <-ended)
		})
	}
}
