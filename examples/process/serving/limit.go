package serving

import (
	"net"
	"net/netip"
	"sync"
)

// A connection costs some 50 KiB and a goroutine, before it is known from which
// caller. So one address, for example of a pod, cannot keep kubelet's probes
// and Prometheus out.
const (
	connections          = 512
	connectionsOfAddress = 32
)

// limited is a listener that closes connections beyond those numbers at once.
type limited struct {
	net.Listener
	mu        sync.Mutex
	all       int
	byAddress map[netip.Prefix]int
}

func limit(listener net.Listener) *limited {
	return &limited{Listener: listener, byAddress: make(map[netip.Prefix]int)}
}

// Accept returns the next connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if from := source(conn.RemoteAddr()); l.enter(from) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		_ = conn.Close() // its caller is told by that alone
	}
}

func (l *limited) enter(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == connections || l.byAddress[from] == connectionsOfAddress {
		return false
	}
	l.all++
	l.byAddress[from]++
	return true
}

func (l *limited) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byAddress[from]--; l.byAddress[from] == 0 {
		delete(l.byAddress, from)
	}
}

// source returns an IPv4 address, or the /64 of an IPv6 one, of which a machine
// has as many as it likes.
func source(address net.Addr) netip.Prefix {
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Prefix{} // all that have none count as one
	}
	ip := parsed.Addr().Unmap().WithZone("")
	return netip.PrefixFrom(ip, min(ip.BitLen(), 64)).Masked()
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
