package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// work is a kind of work. Each has a part of the calls that a process may send.
// That others are busy is no excuse for it. [C1, Q12]
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
	had := bytes.Count(call.Data, []byte(corev1.TaintNodeUnreachable)) +
		bytes.Count(call.Data, []byte(corev1.TaintNodeNotReady))
	for _, t := range patchedTaints(call) {
		if illnessTaint(t.Key) {
			had -= 2 // it stays
		}
	}
	return had > 0
}

// addsIllness reports whether a patch of a node leaves it with a NoExecute
// taint of ours.
func addsIllness(call *network.Call) bool {
	return slices.ContainsFunc(patchedTaints(call), func(t corev1.Taint) bool {
		return t.Effect == executes && illnessTaint(t.Key)
	})
}

// patchedTaints returns the taints that a JSON Patch of a node writes.
func patchedTaints(call *network.Call) []corev1.Taint {
	var steps []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if !bytes.Contains(call.Data, []byte("/spec/taints")) || json.Unmarshal(call.Data, &steps) != nil {
		return nil
	}
	var taints []corev1.Taint
	for _, step := range steps {
		var all []corev1.Taint
		if step.Op != "test" && step.Path == "/spec/taints" && json.Unmarshal(step.Value, &all) == nil {
			taints = append(taints, all...)
		}
	}
	return taints
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

// full reports whether the process has as many calls under way as it may.
func (p *process) full() bool {
	most := p.judge.settings.Concurrent
	return most > 0 && p.underWay >= most
}

// count counts a call that is sent.
func (p *process) count(now time.Duration, call *network.Call) {
	p.lookBusy(now)
	if p.underWay++; p.full() {
		p.busy = now
	}
	p.calls[workOf(call)].add(now, 1)
}

// ends takes that a call is over.
func (p *process) ends(now time.Duration) {
	p.lookBusy(now)
	p.underWay--
}

// lookBusy notes that the process is busy all the time that its calls take.
func (p *process) lookBusy(now time.Duration) {
	if p.full() {
		p.stretches.add(now, (now - p.busy).Seconds())
		p.busy = now
	}
}

// late reports whether something that was asked for at some time should have
// been done by now. The process has sent calls of the kind since then, and its
// part of the rate may have gone into them. While it had as many calls under way
// as it may, it could do nothing, and that time is given back to it.
func (c *checking) late(asked time.Duration, kind work) bool {
	p, s := c.process, &c.settings
	asked = max(asked, c.calm+s.CalmBound)
	by := asked + s.bound()
	if c.now <= by {
		return false
	}
	if s.QPS > 0 {
		sent := p.calls[kind].since(asked)
		if kind == evictions {
			sent += float64(max(s.EvictionCost, 1)) // what the next one sets aside
		}
		by += time.Duration(sent / (s.QPS * kind.part()) * float64(time.Second))
	}
	p.lookBusy(c.now)
	return c.now > by+time.Duration(p.stretches.since(asked)*float64(time.Second))
}
