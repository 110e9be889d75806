package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// E2: what an answer tells of the API server's time of day, and when its request
// was sent.
func TestE2DateOfAnAnswerIsTold(t *testing.T) {
	const date = "Mon, 03 Feb 2031 04:05:06 GMT"
	for _, test := range []struct {
		name   string
		header http.Header
		status int
		err    error
		told   bool
	}{
		{"an answer", http.Header{"Date": {date}}, http.StatusOK, nil, true},
		{"it is not there", http.Header{"Date": {date}}, http.StatusNotFound, nil, true},
		{"no date", http.Header{}, http.StatusOK, nil, false},
		{"another format", http.Header{"Date": {"2031-02-03"}}, http.StatusOK, nil, false},
		{"out of a cache", http.Header{"Date": {date}, "Age": {"3"}}, http.StatusOK, nil, false},
		{"of a proxy", http.Header{"Date": {date}}, http.StatusBadGateway, nil, false},
		{"no answer", nil, 0, errors.New("connection refused"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				d := &dates{told: func(sent, told time.Time) {
					calls++
					require.Equal(t, 3*time.Second, time.Since(sent))
					require.Equal(t, began, sent)
					require.True(t, time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC).Equal(told), "%v", told)
				}}
				answer := &http.Response{Header: test.header, StatusCode: test.status, Body: http.NoBody}
				client := d.transport(roundTripper(func(*http.Request) (*http.Response, error) {
					time.Sleep(3 * time.Second)
					return answer, test.err
				}))
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				response, err := client.RoundTrip(request)
				require.Equal(t, test.err, err)
				require.Same(t, answer, response)
				require.NoError(t, response.Body.Close())
				require.Equal(t, test.told, calls == 1)

				d.told = nil
				response, err = client.RoundTrip(request)
				require.Equal(t, test.err, err)
				require.NoError(t, response.Body.Close())
			})
		})
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
			p.Sharing.LeaderElection.RetryPeriod = 10 * time.Millisecond
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

// E2: a watch is alive in each second in which its informer has received
// something, and in no other.
func TestE2PulsesTellThatAWatchIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		nodes, pods := &informer{}, &informer{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Pulses(ctx, Pulse{nodes, func() { nodes.beats.Add(1) }}, Pulse{pods, func() { pods.beats.Add(1) }})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, nodes.beats.Load(), "it has no list yet")
		for version, want := range []int32{1, 2, 3} {
			nodes.version.Store(new(fmt.Sprint(version)))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, want, nodes.beats.Load())
			require.Zero(t, pods.beats.Load())
		}
		stop()
		<-done
	})
}

// informer is the part of an informer that Pulses looks at.
type informer struct {
	version atomic.Pointer[string]
	beats   atomic.Int32
}

func (i *informer) LastSyncResourceVersion() string {
	if version := i.version.Load(); version != nil {
		return *version
	}
	return ""
}
