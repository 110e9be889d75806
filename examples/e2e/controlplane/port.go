package controlplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// errPortTaken says that a program could not listen on the port that it was
// given.
var errPortTaken = errors.New("address already in use")

// Ports come from below the range that systems hand out by themselves (Linux:
// from 32768). Asking for "port 0" instead would give one from that range, and
// while a killed API server is down any outgoing connection could take it.
const (
	firstPort  = 20000
	portCount  = 5000
	portProbes = 200
	portTries  = 5
)

// port is a loopback port that no other control plane of this machine gets until
// it is released, whether or not something listens on it.
type port struct {
	number int
	// lock listens on the port that is portCount higher, and answers nothing. The
	// kernel ends it with this process.
	lock net.Listener
}

// reservePort finds a port on which nothing listens.
func reservePort() (*port, error) {
	for range portProbes {
		number := firstPort + rand.IntN(portCount)
		lock, err := net.Listen("tcp", loopback(number+portCount))
		if err != nil {
			continue
		}
		if canListen(number) {
			return &port{number: number, lock: lock}, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("no free port between %d and %d in %d tries", firstPort, firstPort+portCount-1, portProbes)
}

func canListen(number int) bool {
	listener, err := net.Listen("tcp", loopback(number))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func loopback(number int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
}

func (p *port) release() {
	if p != nil {
		_ = p.lock.Close()
	}
}

// onFreePort calls start with a reserved port, and again with another one as
// long as it fails with errPortTaken. Between our check and the program's, a
// process that ignores our locks may have taken it. The caller releases the
// port.
func onFreePort(ctx context.Context, start func(port int) error) (*port, error) {
	var err error
	for range portTries {
		var p *port
		if p, err = reservePort(); err != nil {
			return nil, err
		}
		if err = start(p.number); err == nil {
			return p, nil
		}
		p.release()
		if !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("after %d ports: %w", portTries, err)
}
