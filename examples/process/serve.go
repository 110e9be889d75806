package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/serving"
)

// server answers /metrics, /healthz, /readyz and the pages of the program.
type server struct {
	*serving.Server
	ready atomic.Bool
}

// newServer listens at once, so that an address in use is found before anything
// else is done. A plain one asks no caller for anything, and is for this
// machine.
func newServer(
	ctx context.Context, p *commandline.Process, plain bool,
	metrics prometheus.Gatherer, pages map[string]http.Handler, healthy func(*http.Request) error,
) (*server, error) {
	s := &server{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, request *http.Request) {
		answer(w, healthy(request))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		var err error
		if !s.ready.Load() {
			err = errors.New("caches have not synced yet")
		}
		answer(w, err)
	})
	mux.Handle("GET /metrics", serving.NewPage(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
	for path, page := range pages {
		mux.Handle("GET "+path, serving.NewPage(page))
	}
	var err error
	s.Server, err = serving.NewServer(ctx, serving.ServerConfig{
		Serving: &p.Serving, Handler: mux, Plain: plain, UserAgent: p.Name,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}
