package invariant

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// work is a kind of work. Each has a part of the calls that a client may send.
// That others are busy is no excuse for it.
type work int

const (
	// declarations read leases and make nodes Unknown.
	declarations work = iota
	// recoveries take back a taint that says that a node is ill.
	recoveries
	// evictions make pods leave.
	evictions
	// otherWrites are all other writes of nodes.
	otherWrites
	// podMarks say that pods are not ready.
	podMarks
	kindsOfWork
)

// part is that of each kind. The last two share a quarter.
func (w work) part() float64 {
	if w == otherWrites || w == podMarks {
		return 0.125
	}
	return 0.25
}

// tally is how much there was of something, up to which moment.
type tally []tallied

type tallied struct {
	at  time.Duration
	sum float64
}

// longestTally bounds how much is remembered.
const longestTally = 200_000

func (s *tally) add(at time.Duration, much float64) {
	sum := much
	if n := len(*s); n > 0 {
		sum += (*s)[n-1].sum
	}
	if len(*s) == longestTally {
		*s = slices.Clone((*s)[longestTally/2:])
	}
	*s = append(*s, tallied{at, sum})
}

// since returns how much there was after a moment.
func (s tally) since(at time.Duration) float64 {
	if len(s) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(s, at, func(one tallied, at time.Duration) int { return cmp.Compare(one.at, at) })
	before := 0.0
	if i > 0 {
		before = s[i-1].sum
	}
	return s[len(s)-1].sum - before
}

// count counts a call.
func (v *view) count(now time.Duration, call *network.Call) {
	v.lookBusy(now)
	if v.underWay++; v.full() {
		v.busy = now
	}
	v.calls[workOf(call)].add(now, 1)
}

// deadline returns by when a client must have done what was asked for at some
// time, by what is known now. It has sent calls of the kind since then, and its
// part of the rate may have gone into them.
func (v *view) deadline(asked time.Duration, kind work) time.Duration {
	s := &v.judge.settings
	by := asked + s.bound()
	if s.QPS > 0 {
		sent := v.calls[kind].since(asked)
		if kind == evictions {
			sent += float64(max(s.EvictionCost, 1)) // what the next one sets aside
		}
		by += time.Duration(sent / (s.QPS * kind.part()) * float64(time.Second))
	}
	return by
}

// workOf returns of what kind a call is.
func workOf(call *network.Call) work {
	switch {
	case call.Kind == network.Leases, call.Kind == network.Nodes && call.Subresource == "status":
		return declarations
	case call.Kind == network.Nodes && call.Verb == network.Get:
		return evictions // with a live look before them
	case call.Kind == network.Nodes && untaints(call):
		return recoveries
	case call.Kind == network.Nodes:
		return otherWrites
	case call.Verb == network.Patch && !marking(call):
		return podMarks
	}
	return evictions
}

// untaints reports whether a patch leaves a node without a taint that says that
// it is ill. What it had before is in the test of the patch.
func untaints(call *network.Call) bool {
	had := bytes.Count(call.Data, []byte("node.kubernetes.io/unreachable")) +
		bytes.Count(call.Data, []byte("node.kubernetes.io/not-ready"))
	has := 0
	for _, t := range patchedTaints(call) {
		if illness(t.Key) {
			has++
		}
	}
	return had-has > has
}
