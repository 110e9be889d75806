package eviction_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kubelife/lifecycle/eviction"
)

// clientOf is client-go's pod client for a server, without a limit of its own.
func clientOf(t *testing.T, address string, wrap transport.WrapperFunc) corev1client.PodInterface {
	t.Helper()
	config := &rest.Config{Host: address, QPS: -1}
	if wrap != nil {
		config.Wrap(wrap)
	}
	client, err := corev1client.NewForConfig(config)
	require.NoError(t, err)
	return client.Pods("ns")
}

func evictionOf(name string) *policyv1.Eviction {
	return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

// A busy is an API server, without a connection, that asks each request to come
// back in two seconds.
type busy struct {
	body     string
	requests atomic.Int32
}

func (b *busy) RoundTrip(request *http.Request) (*http.Response, error) {
	b.requests.Add(1)
	return &http.Response{
		StatusCode: http.StatusTooManyRequests,
		Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"2"},
			"Audit-Id": {"x"}},
		Body:    &reader{text: b.body},
		Request: request,
	}, nil
}

type reader struct {
	text string
	at   int
}

func (r *reader) Read(p []byte) (int, error) {
	if r.at == len(r.text) {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	r.at += n
	return n, nil
}

func (*reader) Close() error { return nil }

const budgetStatus = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,
	"message":"Cannot evict pod as it would violate the pod's disruption budget.",
	"details":{"retryAfterSeconds":2,"causes":[{"reason":"DisruptionBudget","message":"still being processed"}]}}`

// demand.md, PDB ignored: a budget's 429 must not use up a worker. client-go by
// itself asks eleven times and sleeps in between; that is how it is before the
// transport is wrapped. The time is that of a bubble, so no more is slept than
// asserted.
func TestE5WorkersDoNotSleepInsideOfTheClient(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	act := func(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) (*busy, eviction.Result,
		time.Duration) {
		server := &busy{body: budgetStatus}
		client := clientOf(t, "http://api.example.com",
			func(http.RoundTripper) http.RoundTripper { return wrap(server) })
		evict, err := eviction.NewEvictor(
			eviction.EvictorConfig{Pods: func(string) eviction.EvictionClient { return client }})
		require.NoError(t, err)
		begin := time.Now()
		result := evict.Act(t.Context(), task)
		return server, result, time.Since(begin)
	}
	synctest.Test(t, func(t *testing.T) {
		server, result, slept := act(t, eviction.WithoutRetryAfter)
		require.EqualValues(t, 1, server.requests.Load())
		require.Zero(t, slept)
		require.Equal(t, eviction.OutcomeBlocked, result.Outcome)
		require.Equal(t, 2*time.Second, result.RetryAfter, "from the body")
	})
	synctest.Test(t, func(t *testing.T) {
		server, result, slept := act(t, func(r http.RoundTripper) http.RoundTripper { return r })
		require.EqualValues(t, 11, server.requests.Load(), "or the transport is of no use any more")
		require.Equal(t, 20*time.Second, slept)
		require.Equal(t, eviction.OutcomeBlocked, result.Outcome)
	})
}

// The same over a connection: one request, and the answer is the API server's.
func TestE5BudgetOverAConnectionIsOneRequest(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, budgetStatus)
	}))
	defer server.Close()
	err := clientOf(t, server.URL, eviction.WithoutRetryAfter).EvictV1(t.Context(), evictionOf("p"))
	require.Equal(t, "Budget", eviction.CauseOf(err), "%v", err)
	require.EqualValues(t, 1, requests.Load())
}

// All else of an answer is as it was, and an error too.
func TestWithoutRetryAfterDropsNothingElse(t *testing.T) {
	server := &busy{body: "later"}
	wrapped := eviction.WithoutRetryAfter(server)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.com",
		http.NoBody)
	require.NoError(t, err)
	response, err := wrapped.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.Header{"Content-Type": {"application/json"}, "Audit-Id": {"x"}},
		response.Header)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "later", string(body))

	broken := errors.New("broken")
	_, err = eviction.WithoutRetryAfter(roundTripper(func(*http.Request) (*http.Response,
		error) {
		return nil, broken
	})).RoundTrip(request) //nolint:bodyclose // there is no response
	require.ErrorIs(t, err, broken)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// A caller that unwraps the transport, for example to close its idle
// connections, finds the one beneath.
func TestWithoutRetryAfterCanBeUnwrapped(t *testing.T) {
	closed := false
	utilnet.CloseIdleConnectionsFor(eviction.WithoutRetryAfter(closer{closed: &closed}))
	require.True(t, closed)
}

type closer struct {
	http.RoundTripper
	closed *bool
}

func (c closer) CloseIdleConnections() { *c.closed = true }

var _ eviction.EvictionClient = corev1client.PodInterface(nil)

var _ eviction.NodeClient = corev1client.NodeInterface(nil)

// client-go's typed client satisfies what Delete needs.
var _ eviction.Action = func(ctx context.Context, task eviction.Task) eviction.Result {
	return (&eviction.Deleter{}).Act(ctx, task)
}

// E2: what an answer tells of the API server's time of day, and when its
