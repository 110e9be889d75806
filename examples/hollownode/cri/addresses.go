package cri

import (
	"errors"
	"fmt"
)

// defaultNetwork is that of pods unless another one is set.
const defaultNetwork = "10.0.0.0/8"

// ErrInvalidNetwork is wrapped by the errors of [Fake.SetPodNetwork].
var ErrInvalidNetwork = errors.New("invalid network of pods")

// ValidatePodNetwork returns what is wrong with a network of pods. It is one of
// IPv4 as 10.0.0.0/8, with at least 8 bits and room for two pods.
func ValidatePodNetwork(network string) error {
	_, err := newAddresses(network)
	return err
}

// addresses are the IPs of a network. One that is free again is used last.
type addresses struct {
	network string
	first   uint32
	hosts   uint32 // how many there are; the first and the last address are none
	last    uint32 // the place of the last one
	taken   map[uint32]struct{}
}

func newAddresses(network string) (addresses, error) {
	const fewestBits, mostBits = 8, 30
	var a, b, c, d uint8
	var bits int
	_, err := fmt.Sscanf(network, "%d.%d.%d.%d/%d", &a, &b, &c, &d, &bits)
	canonical := fmt.Sprintf("%d.%d.%d.%d/%d", a, b, c, d, bits)
	if err != nil || canonical != network || bits < fewestBits || bits > mostBits {
		return addresses{}, fmt.Errorf("%w: %q, want one of IPv4 with %d to %d bits",
			ErrInvalidNetwork, network, fewestBits, mostBits)
	}
	size := uint32(1) << (32 - bits)
	return addresses{
		network: network, first: number(a, b, c, d) / size * size, hosts: size - 2, taken: map[uint32]struct{}{},
	}, nil
}

func number(a, b, c, d uint8) uint32 {
	return uint32(a)<<24 | uint32(b)<<16 | uint32(c)<<8 | uint32(d)
}

// take returns an IP that no other sandbox has, if there is one.
func (a *addresses) take() (string, bool) {
	if len(a.taken) >= int(a.hosts) {
		return "", false
	}
	for found := true; found; {
		a.last = a.last%a.hosts + 1
		_, found = a.taken[a.last]
	}
	a.taken[a.last] = struct{}{}
	ip := a.first + a.last
	return fmt.Sprintf("%d.%d.%d.%d", ip>>24, ip>>16&255, ip>>8&255, ip&255), true
}

// reserve makes no other sandbox get an IP.
func (a *addresses) reserve(ip string) {
	if host, ok := a.place(ip); ok {
		a.taken[host] = struct{}{}
		a.last = max(a.last, host)
	}
}

// release makes an IP free. One of another network is ignored.
func (a *addresses) release(ip string) {
	if host, ok := a.place(ip); ok {
		delete(a.taken, host)
	}
}

// place returns the place of an IP in the network.
func (a *addresses) place(ip string) (uint32, bool) {
	if ip == "" {
		return 0, false
	}
	var p, q, r, s uint8
	if _, err := fmt.Sscanf(ip, "%d.%d.%d.%d", &p, &q, &r, &s); err != nil {
		return 0, false
	}
	host := number(p, q, r, s) - a.first
	return host, host >= 1 && host <= a.hosts
}
