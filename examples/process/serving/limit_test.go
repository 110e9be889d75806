package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// queue is a listener whose connections come from the addresses in it.
type queue struct {
	net.Listener
	from []string
}

var errEmpty = errors.New("no more")

func (q *queue) Accept() (net.Conn, error) {
	if len(q.from) == 0 {
		return nil, errEmpty
	}
	c := &connection{from: q.from[0]}
	q.from = q.from[1:]
	return c, nil
}

type connection struct {
	net.Conn
	from string
}

func (c *connection) RemoteAddr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", c.from)
	if err != nil {
		return &net.UnixAddr{Name: c.from}
	}
	return address
}

func (c *connection) Close() error { return nil }

// accept returns all connections that pass.
func accept(t *testing.T, l *limited) []net.Conn {
	t.Helper()
	var all []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			require.ErrorIs(t, err, errEmpty)
			return all
		}
		all = append(all, c)
	}
}

// C5: one address has some connections, all have some more, and one that is
// closed makes room for another.
func TestC5ConnectionsAreBounded(t *testing.T) {
	for _, format := range []string{"10.0.0.1:%d", "[2001:db8::%x]:1", "socket %d"} {
		q := &queue{}
		l := limit(q)
		for i := range 100 {
			q.from = append(q.from, fmt.Sprintf(format, i+1))
		}
		held := accept(t, l)
		require.Len(t, held, connectionsOfAddress, format)
		q.from = []string{"10.0.0.2:1", "[2001:db8:0:1::1]:1"}
		require.Len(t, accept(t, l), 2, "others are not held up")
		for range 2 {
			require.NoError(t, held[0].Close(), "a second time does not count")
		}
		q.from = []string{fmt.Sprintf(format, 1), fmt.Sprintf(format, 2)}
		require.Len(t, accept(t, l), 1)
	}

	q := &queue{}
	l := limit(q)
	for i := range 2 * connections {
		q.from = append(q.from, fmt.Sprintf("10.0.%d.%d:1", i/256, i%256))
	}
	held := accept(t, l)
	require.Len(t, held, connections)
	for _, c := range held {
		require.NoError(t, c.Close())
	}
	require.Zero(t, l.all)
	require.Empty(t, l.byAddress)
}

// pipes is a listener of connections that are no sockets.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.dialed <- theirs
	return ours
}

// C5: one connection too many is closed at once, before a byte is read. A
// server that answered many times has room.
func TestC5ConnectionsThatEndMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flags(t)
		f.SecurePort = 0
		s, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: pages(), Plain: true})
		require.NoError(t, err)
		listener := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
		limited := limit(listener)
		s.listener = limited
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()

		began := time.Now()
		var held []net.Conn
		for range connectionsOfAddress {
			held = append(held, listener.dial())
		}
		extra := listener.dial()
		_, err = extra.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, began, time.Now())
		for _, c := range held {
			require.NoError(t, c.Close())
		}
		synctest.Wait()
		require.Zero(t, limited.all)

		caller := &http.Client{Transport: &http.Transport{
			DialContext:       func(context.Context, string, string) (net.Conn, error) { return listener.dial(), nil },
			DisableKeepAlives: true,
		}}
		for range 2 * connectionsOfAddress {
			status, _ := ask(t, caller, "http://server/page")
			require.Equal(t, http.StatusOK, status)
			synctest.Wait()
		}
		require.Equal(t, began, time.Now())
		stop()
		require.NoError(t, <-ended)
	})
}

// C5: that holds for each server that listens.
func TestC5ServersBoundTheirConnections(t *testing.T) {
	s, err := NewServer(t.Context(), ServerConfig{Serving: flags(t), Handler: pages(), Plain: true})
	require.NoError(t, err)
	require.IsType(t, &limited{}, s.listener)
	require.NoError(t, s.listener.Close())
}
