package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// What one caller can cost. A page is collected within pageTime, so that
// writeTimeout leaves as long to write it.
const (
	readHeaderTimeout = 10 * time.Second // the TLS handshake, too
	readTimeout       = 20 * time.Second
	writeTimeout      = 2 * pageTime
	idleTimeout       = time.Minute
	maxHeaderBytes    = 64 << 10
	closingTime       = time.Second
	logInterval       = time.Second
)

// ServerConfig says what is served, and how.
type ServerConfig struct {
	// Serving are the flags, which Check has found right. Required.
	Serving *commandline.Serving
	// Handler answers. Required.
	Handler http.Handler
	// Plain is HTTP on a loopback address, to every caller there. It is for a
	// program without a cluster.
	Plain bool
	// UserAgent is the program's name for the API server.
	UserAgent string
}

// A Server answers on a port. With port 0 it answers nowhere.
type Server struct {
	listener net.Listener // nil with port 0
	http     *http.Server
	// following keeps certificates and authorities up to date.
	following []func(context.Context)
}

// NewServer listens, so that an address in use is found before anything else is
// done, and reads which authorities to trust. Connections wait for Run.
func NewServer(ctx context.Context, config ServerConfig) (*Server, error) {
	s := &Server{http: &http.Server{
		Handler:           config.Handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog: log.New(&errorLog{
			logger: klog.FromContext(ctx), handshakes: rate.Sometimes{Interval: logInterval},
		}, "", 0),
	}}
	if config.Serving.SecurePort == 0 {
		return s, nil
	}
	address, err := config.address()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--secure-port: %w", err)
	}
	s.listener = limit(listener)
	if config.Plain {
		return s, nil
	}
	if err := s.secure(ctx, &config); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return s, nil
}

// address returns where to listen.
func (c *ServerConfig) address() (string, error) {
	ip := c.Serving.BindAddress
	if c.Plain {
		switch {
		case len(ip) == 0 || ip.IsUnspecified():
			ip = net.IPv4(127, 0, 0, 1)
		case !ip.IsLoopback():
			return "", fmt.Errorf("--bind-address is %s, want a loopback address: without a cluster it is plain HTTP", ip)
		}
	}
	host := ""
	if len(ip) != 0 {
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(c.Serving.SecurePort)), nil
}

// secure puts TLS, authentication and authorization in front of the handler.
func (s *Server) secure(ctx context.Context, config *ServerConfig) error {
	callers, err := newAuthentication(ctx, &config.Serving.Authentication, config.UserAgent)
	if err != nil {
		return err
	}
	rights, err := newAuthorization(&config.Serving.Authorization, config.UserAgent)
	if err != nil {
		return err
	}
	keys, err := newCertificates(config.Serving, callers.authorities)
	if err != nil {
		return err
	}
	s.http.Handler = &guard{
		open: rights.open, identify: callers.identify, permit: rights.permit, page: config.Handler,
		logging: rate.Sometimes{Interval: logInterval},
	}
	s.listener = tls.NewListener(s.listener, keys.config)
	s.following = slices.Concat(callers.following, keys.following)
	return nil
}

// errorLog takes what package http logs, a line at a time. Callers decide how
// many handshakes fail, so of those there is a line a second.
type errorLog struct {
	logger     klog.Logger
	handshakes rate.Sometimes
}

func (l *errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: TLS handshake error") {
		l.handshakes.Do(func() { l.logger.V(2).Info("Refused a connection", "err", text) })
	} else {
		l.logger.Error(nil, "Cannot serve", "err", text)
	}
	return len(line), nil
}

// Addr returns where the server listens, nil for nowhere.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Run answers until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		<-ctx.Done()
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, follow := range s.following {
		running.Go(func() { follow(ctx) })
	}
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve pages: %w", err)
	case <-ctx.Done():
	}
	return s.close(ctx, failed)
}

// close waits a moment for answers that are under way, and ends them.
func (s *Server) close(ctx context.Context, failed <-chan error) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	err := s.http.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		// A slow caller is no failure of the program.
		err = s.http.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop serving pages: %w", err)
	}
	return nil
}
