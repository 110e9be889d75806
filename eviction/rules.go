package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// rules say when a pod must leave, and when it may by what is not held.
type rules struct {
	config   *Config   // tasks refer to it
	epoch    time.Time // times of pods are distances from it
	attempts *attempts
	held     holdSet // everywhere
}

// must applies the rules to a pod. It says when the pod must leave, whatever is
// held. The ruling is zero before.
func (r *rules) must(into *ruling, e *entry) {
	r.rule(into, e, e.Value().node.taints, r.requests(e))
}

// may says when a pod that must leave by a ruling may leave, by what is not
// held.
func (r *rules) may(e *entry, must *ruling) *ruling {
	n := e.Value().node
	held := r.heldOn(n)
	if held == 0 {
		return must
	}
	may := new(ruling)
	r.rule(may, e, r.config.unheld(n.taints, held), r.unheldRequests(e, held))
	return may
}

func (r *rules) rule(into *ruling, e *entry, on []Taint, by requests) {
	p, a := e.Value(), r.attempts.on(e)
	switch {
	case p.state.goes(), a != nil && a.terminating:
		into.reason = ReasonGone
	case p.kind == exempt:
		into.reason = ReasonExempt
	case len(on) == 0 && by == (requests{}): // most pods, most of the time
		into.reason = ReasonNoTaints
	default:
		view := r.view(p)
		into.decide(on, by, &view, r.config.Matcher)
	}
}

// requests returns what the caller has asked for that concerns a pod.
func (r *rules) requests(e *entry) requests {
	return requests{node: e.Value().nodeEviction(), pod: r.attempts.request(e)}
}

// unheldRequests returns those of them that are not held.
func (r *rules) unheldRequests(e *entry, held holdSet) requests {
	if r.config.holding(nil, held) >= 0 {
		return requests{}
	}
	return r.requests(e)
}

// view is a pod as [Decide] takes it.
func (r *rules) view(p *pod) Pod {
	return Pod{Tolerations: p.traits.tolerations, Arrived: r.epoch.Add(p.arrived)}
}

// heldOn returns what is held on a node.
func (r *rules) heldOn(n *node) holdSet { return r.held | n.held }

// holding returns the name of the hold that a pod waits for.
func (r *rules) holding(n *node, decision Decision) string {
	var taint *corev1.Taint
	if decision.byTaint() {
		taint = &decision.Taint.Taint
	}
	return r.config.Holds[r.config.holding(taint, r.heldOn(n))].Name
}
