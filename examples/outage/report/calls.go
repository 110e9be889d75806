package report

import (
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// call is a kind of call.
type call struct {
	verb        network.Verb
	kind        network.Kind
	subresource string
}

func (c call) String() string {
	text := string(c.verb) + " " + c.kind.String()
	if c.subresource != "" {
		text += "/" + c.subresource
	}
	return text
}

// calls counts calls by kind.
type calls map[call]*struct{ sent, failed int }

func (c calls) count(one call, sent, failed int) {
	counts := c[one]
	if counts == nil {
		counts = new(struct{ sent, failed int })
		c[one] = counts
	}
	counts.sent += sent
	counts.failed += failed
}

// list returns the counts by name of the kind.
func (c calls) list() []Calls {
	list := make([]Calls, 0, len(c))
	for kind, counts := range c {
		list = append(list, Calls{kind.String(), counts.sent, counts.failed})
	}
	slices.SortFunc(list, func(a, b Calls) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}

// Sent counts a call for the zone that it is about, and for the cluster.
func (r *Recorder) Sent(sent *network.Call) {
	if sent.Kind == network.Nodes && sent.Verb == network.Patch {
		r.look() // a zone's rate counts from before the first call that it allows
	}
	kind, about := call{sent.Verb, sent.Kind, sent.Subresource}, r.about(sent)
	r.calls.count(kind, 1, 0)
	if sent.Kind != network.LeaderLease && !sent.BeginsWatch() {
		r.sentSince++
	}
	if about != nil {
		about.calls.count(kind, 1, 0)
		r.underWay[sent] = about
	}
}

// Answered counts a call that failed, for the zone that it was about when it
// was sent.
func (r *Recorder) Answered(answered *network.Call) {
	if answered.Kind == network.Nodes && answered.Verb == network.Patch {
		r.lookSoon()
	}
	about := r.underWay[answered]
	delete(r.underWay, answered)
	if answered.Err == nil {
		return
	}
	if model.Refused(answered) {
		r.refused(answered)
	}
	kind := call{answered.Verb, answered.Kind, answered.Subresource}
	r.calls.count(kind, 0, 1)
	if about != nil {
		about.calls.count(kind, 0, 1)
	}
}

// about returns the zone that a call is about, nil if it has none. It is that
// of the node, or of the node of the lease or pod.
func (r *Recorder) about(sent *network.Call) *district {
	name := sent.Name
	if sent.Kind == network.Pods {
		pod := r.world.Pod(name)
		if pod == nil {
			return nil
		}
		name = pod.Spec.NodeName
	}
	if n := r.nodes[name]; n != nil && sent.Kind != network.LeaderLease {
		return n.district
	}
	return nil
}
