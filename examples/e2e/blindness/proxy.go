package blindness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// A proxy stands between a subject and the API server. What watches answer can
// come late and be cut; every other call passes. It speaks TLS and HTTP/2 on
// both sides, and asks with the credentials of the subject.
type proxy struct {
	server   *http.Server
	listener net.Listener
	ca       []byte

	mu      sync.Mutex
	delay   time.Duration
	watches map[*lateBody]bool
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
	ca, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the proxy: %w", err)
	}
	pair, err := tls.X509KeyPair(ca, key)
	if err != nil {
		return nil, err
	}
	p := &proxy{ca: ca, watches: map[*lateBody]bool{}}
	silence := log.New(io.Discard, "", 0) // it would tell about every cut
	p.server = &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:      transport,
			FlushInterval:  -1,
			ModifyResponse: p.delayWatch,
			ErrorLog:       silence,
		},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          silence,
	}
	p.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = p.server.ServeTLS(p.listener, "", "") }() // it ends with stop
	return p, nil
}

// access is the same access as config's, through the proxy.
func (p *proxy) access(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = "https://" + p.listener.Addr().String()
	config.CAData = p.ca
	return config
}

func (p *proxy) stop() {
	p.cut()
	_ = p.server.Close() // nothing is left to be told about
}

// setDelay makes what watches answer from now on come so late. What is under
// way keeps its place.
func (p *proxy) setDelay(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// cut ends all watches in the middle, and drops what is under way. It returns
// how many there were.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.watches)
	for body := range p.watches {
		body.end(errCut)
	}
	clear(p.watches)
	return n
}

func (p *proxy) delayWatch(response *http.Response) error {
	query := response.Request.URL.Query()
	if watch := query.Get("watch"); watch != "1" && watch != "true" {
		return nil
	}
	body := newLateBody(response.Body, p.currentDelay)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches[body] = true
	body.closed = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, body)
	}
	response.Body = body
	return nil
}

func (p *proxy) currentDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// lateBody is the body of an answer whose parts come late. It is read
// as fast as it comes, so that the sender does not wait.
type lateBody struct {
	source io.ReadCloser
	delay  func() time.Duration
	closed func()
	parts  chan part
	rest   []byte // of the part that Read has begun

	once  sync.Once
	ended chan struct{}
	err   error // why it ended; read after ended
}

// part is what one read of the source gave, and when Read may return it.
type part struct {
	data []byte
	err  error
	due  time.Time
}

// partsUnderWay bounds what a body holds back. Bodies of more parts wait.
const partsUnderWay = 1 << 16

func newLateBody(source io.ReadCloser, delay func() time.Duration) *lateBody {
	b := &lateBody{
		source: source, delay: delay, closed: func() {},
		parts: make(chan part, partsUnderWay), ended: make(chan struct{}),
	}
	go b.receive()
	return b
}

// receive reads the source until it ends.
func (b *lateBody) receive() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := b.source.Read(buffer)
		p := part{data: append([]byte(nil), buffer[:n]...), err: err, due: time.Now().Add(b.delay())}
		select {
		case b.parts <- p:
		case <-b.ended:
			return
		}
		if err != nil {
			return
		}
	}
}

func (b *lateBody) Read(data []byte) (int, error) {
	for len(b.rest) == 0 {
		select {
		case <-b.ended:
			return 0, b.err
		case p := <-b.parts:
			if err := b.wait(p.due); err != nil {
				return 0, err
			}
			b.rest = p.data
			if p.err != nil && len(p.data) == 0 {
				return 0, p.err
			}
			if p.err != nil { // what comes after the last data
				b.parts <- part{err: p.err, due: p.due}
			}
		}
	}
	n := copy(data, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// wait waits until a time, or for the end of the body.
func (b *lateBody) wait(due time.Time) error {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-b.ended:
		return b.err
	}
}

func (b *lateBody) end(err error) {
	b.once.Do(func() {
		b.err = err
		close(b.ended)
	})
}

// Close is called by the server when the client has gone.
func (b *lateBody) Close() error {
	b.end(http.ErrBodyReadAfterClose)
	b.closed()
	return b.source.Close()
}
