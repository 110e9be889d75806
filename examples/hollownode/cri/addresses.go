package cri

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// defaultNetwork is that of pods unless another one is set.
var defaultNetwork = netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), 8)

// ErrInvalidNetwork is wrapped by the errors of [Fake.SetPodNetwork].
var ErrInvalidNetwork = errors.New("invalid network of pods")

// longestPrefix leaves two addresses besides the first and the last.
const longestPrefix = 30

// ValidatePodNetwork returns what is wrong with a network of pods. It must be of
// IPv4, and have room for two.
func ValidatePodNetwork(network netip.Prefix) error {
	if !network.IsValid() || !network.Addr().Is4() || network.Bits() > longestPrefix {
		return fmt.Errorf("%w: %v, want one of IPv4 with at most %d bits", ErrInvalidNetwork, network, longestPrefix)
	}
	return nil
}

// addresses are the IPs of a network. One that is free again is used last.
type addresses struct {
	network netip.Prefix
	last    uint32 // the host part of the last one
	taken   map[uint32]struct{}
}

func newAddresses(network netip.Prefix) addresses {
	return addresses{network: network.Masked(), taken: map[uint32]struct{}{}}
}

// hosts is how many there are. The first and the last address are none.
func (a *addresses) hosts() uint32 { return 1<<(32-a.network.Bits()) - 2 }

// take returns an IP that no other sandbox has, if there is one.
func (a *addresses) take() (string, bool) {
	if len(a.taken) >= int(a.hosts()) {
		return "", false
	}
	for found := true; found; {
		a.last = a.last%a.hosts() + 1
		_, found = a.taken[a.last]
	}
	a.taken[a.last] = struct{}{}
	first := a.network.Addr().As4()
	ip := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(first[:])+a.last)
	return netip.AddrFrom4([4]byte(ip)).String(), true
}

// reserve makes no other sandbox get an IP.
func (a *addresses) reserve(ip string) {
	if host, ok := a.host(ip); ok {
		a.taken[host] = struct{}{}
		a.last = max(a.last, host)
	}
}

// release makes an IP free. One of another network is ignored.
func (a *addresses) release(ip string) {
	if host, ok := a.host(ip); ok {
		delete(a.taken, host)
	}
}

// host returns the host part of an IP of the network.
func (a *addresses) host(ip string) (uint32, bool) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !a.network.Contains(addr) {
		return 0, false
	}
	first, full := a.network.Addr().As4(), addr.As4()
	host := binary.BigEndian.Uint32(full[:]) - binary.BigEndian.Uint32(first[:])
	return host, host >= 1 && host <= a.hosts()
}
