package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	metrics prometheus.Gatherer, pages map[string]http.Handler, health *health,
) (*server, error) {
	s := &server{}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", health)
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

// health answers /healthz. With ?verbose it names what it has checked, as
// kube-controller-manager does, and whether the controller is halted: that is
// no fault of its health.
type health struct {
	checks []check
	halted func() string
}

// A check is one thing that has to be well.
type check struct {
	name string
	run  func(*http.Request) error
}

func (h *health) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var lines strings.Builder
	var faults error
	for _, c := range h.checks {
		err := c.run(request)
		faults = errors.Join(faults, err)
		if err != nil {
			fmt.Fprintf(&lines, "[-]%s failed: %v\n", c.name, err)
		} else {
			fmt.Fprintf(&lines, "[+]%s ok\n", c.name)
		}
	}
	if !request.URL.Query().Has("verbose") {
		answer(w, faults)
		return
	}
	fmt.Fprintf(&lines, "[+]halt: %s\n", h.halted())
	if faults != nil {
		http.Error(w, lines.String()+"healthz check failed", http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, lines.String()+"healthz check passed")
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}
