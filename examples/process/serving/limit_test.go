package serving

import (
	"errors"
	"fmt"
	"net"
	"testing"
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

// C5: over real connections, one too many is closed before a byte is read, and
// a server that answered many times has room.
func TestC5ConnectionsThatEndMakeRoom(t *testing.T) {
	url := start(t, flags(t), true, pages())
	address := url[len("http://"):]
	var held []net.Conn
	for range connectionsOfAddress {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		held = append(held, c)
	}
	extra, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, extra.SetReadDeadline(time.Now().Add(readHeaderTimeout/2)))
	_, err = extra.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, net.ErrClosed)
	var late net.Error
	require.False(t, errors.As(err, &late) && late.Timeout(), "it is closed at once")
	require.NoError(t, extra.Close())
	for _, c := range held {
		require.NoError(t, c.Close())
	}
	caller := newCaller()
	for range 2 * connectionsOfAddress {
		require.Eventually(t, func() bool {
			response, err := caller.Get(url + "/page")
			return err == nil && response.Body.Close() == nil
		}, 2*time.Minute, 5*time.Millisecond)
	}
}
