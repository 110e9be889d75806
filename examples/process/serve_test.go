package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// C5: the metrics and each page are collected for one caller at a time, and a
// fifth caller comes back later. Health waits for neither.
func TestC5MetricsAndPagesAreBounded(t *testing.T) {
	goOn := make(chan struct{})
	p := &commandline.Process{Name: "worker", Serving: commandline.Serving{
		SecurePort: freePort(t), BindAddress: net.IPv4(127, 0, 0, 1),
	}}
	s, err := newServer(t.Context(), p, true,
		prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { <-goOn; return nil, nil }),
		map[string]http.Handler{"/page": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-goOn
			fmt.Fprint(w, "page")
		})},
		&health{halted: func() string { return "" }},
	)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	base := "http://" + s.Addr().String()
	ask := func(path string) int {
		response, err := http.Get(base + path)
		if err != nil || response.Body.Close() != nil {
			return 0
		}
		return response.StatusCode
	}
	const callers = 5
	answers := map[string]chan int{"/metrics": make(chan int, callers), "/page": make(chan int, callers)}
	for path, codes := range answers {
		for range callers {
			go func() { codes <- ask(path) }()
		}
	}
	for path, codes := range answers {
		select {
		case code := <-codes:
			require.Equal(t, http.StatusServiceUnavailable, code, path)
		case <-time.After(2 * time.Minute):
			close(goOn)
			t.Fatal("all callers are let in", path)
		}
	}
	require.Equal(t, http.StatusOK, ask("/healthz"))
	close(goOn)
	for path, codes := range answers {
		for range callers - 1 {
			require.Equal(t, http.StatusOK, <-codes, path)
		}
	}
	stop()
	require.NoError(t, <-ended)
}
