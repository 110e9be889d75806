package blindness

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A proxy stands between a subject and the API server. What watches answer can
// come late and be cut, and every other call can take long. It speaks TLS and
// HTTP/2 on both sides, and asks with the credentials of the subject.
type proxy struct {
	server *httptest.Server
	inner  http.RoundTripper
	// latency is how many nanoseconds every call but a watch takes from now on,
	// besides its own time.
	latency atomic.Int64
	// delay is how many nanoseconds late comes what watches answer from now on.
	// What is under way keeps its place.
	delay atomic.Int64

	mu   sync.Mutex
	open context.Context // of all watches
	end  context.CancelCauseFunc
}

var errCut = errors.New("the proxy has cut the watch")

// startProxy starts a proxy to the API server that config describes. Its caller
// calls stop.
func startProxy(config *rest.Config) (*proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	p := &proxy{inner: transport}
	p.cut()
	silence := log.New(io.Discard, "", 0) // it would tell about every cut
	p.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     p,
		FlushInterval: -1,
		ErrorLog:      silence,
	})
	p.server.Config.ErrorLog = silence
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	return p, nil
}

// access is the same access as config's, through the proxy.
func (p *proxy) access(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = p.server.URL
	config.CAData = pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw,
	})
	return config
}

func (p *proxy) stop() error {
	p.cut()
	p.server.CloseClientConnections()
	p.server.Close()
	return nil
}

// cut ends all watches in the middle, and drops what is under way.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		p.end(errCut)
	}
	p.open, p.end = context.WithCancelCause(context.Background())
}

// RoundTrip passes a call on, half of the latency before and half after it. A
// watch has no latency, and what it answers comes late.
func (p *proxy) RoundTrip(request *http.Request) (*http.Response, error) {
	if watch := request.URL.Query().Get("watch"); watch == "1" || watch == "true" {
		response, err := p.inner.RoundTrip(request)
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			response.Body = newLateBody(p.open, response.Body, &p.delay)
		}
		return response, err
	}
	half := time.Duration(p.latency.Load()) / 2
	if err := wait.Pause(request.Context(), half); err != nil {
		return nil, err
	}
	response, err := p.inner.RoundTrip(request)
	if err == nil && wait.Pause(request.Context(), half) != nil {
		err = errors.Join(request.Context().Err(), response.Body.Close())
		return nil, err
	}
	return response, err
}

// lateBody is the body of an answer whose parts come late.
type lateBody struct {
	*io.PipeReader
	source io.Closer
	end    context.CancelCauseFunc
}

// part is what one read of a source gave, and when the body has it.
type part struct {
	data []byte
	err  error
	due  time.Time
}

// partsUnderWay bounds what a body holds back. Bodies of more parts wait.
const partsUnderWay = 1 << 16

// newLateBody returns a body that has what a source has, each part after the
// delay of the time at which it came, until ctx ends. The source is read as
// fast as it comes, so that the sender does not wait.
func newLateBody(ctx context.Context, source io.ReadCloser, delay *atomic.Int64) *lateBody {
	ctx, end := context.WithCancelCause(ctx)
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Cause(ctx)) })
	parts := make(chan part, partsUnderWay)
	go func() {
		defer close(parts)
		buffer := make([]byte, 32<<10)
		for {
			n, err := source.Read(buffer)
			due := time.Now().Add(time.Duration(delay.Load()))
			select {
			case parts <- part{slices.Clone(buffer[:n]), err, due}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for p := range parts {
			if wait.PauseUntil(ctx, p.due) != nil {
				return
			}
			if _, err := writer.Write(p.data); err != nil {
				return
			}
			if p.err != nil {
				end(p.err)
			}
		}
	}()
	return &lateBody{reader, source, end}
}

// Close is called by the server when the client has gone.
func (b *lateBody) Close() error {
	b.end(http.ErrBodyReadAfterClose)
	return b.source.Close()
}
