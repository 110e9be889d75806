package judge

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// share is what pods share a budget: the attempts of one process to make one of
// them leave that have used a token, and when the last one began.
type share struct {
	name        string
	rate, burst float64
	acts        acts
	begun       time.Duration
}

type shareKey struct{ budget, of string }

// sharesOf returns a pod's share of each budget.
func (p *process) sharesOf(pod *pod) []*share {
	s := &p.judge.settings
	var all []*share
	add := func(budget, of string, rate float64) {
		if rate == 0 {
			return
		}
		key := shareKey{budget, of}
		if p.shares[key] == nil {
			p.shares[key] = &share{name: budget + " " + of, rate: rate, burst: float64(max(s.BudgetBurst, 1))}
		}
		all = append(all, p.shares[key])
	}
	add("overall", "", s.Overall)
	add("of node", pod.on.name, s.PerNode)
	add("of namespace", pod.namespace, s.PerNamespace)
	return all
}

// at is the rate at any time.
func (s *share) at(time.Duration, time.Duration) float64 { return s.rate }

// tokenFor returns since when, or when, there is a token for a pod in every
// budget. Before a calm one may have been used without a call, by a process that
// fears that it does not lead any more.
func (p *process) tokenFor(pod *pod) time.Duration {
	at := time.Duration(-1)
	for _, share := range p.sharesOf(pod) {
		at = max(at, max(share.begun, p.judge.calm)+time.Duration(float64(time.Second)/share.rate))
	}
	return at
}

// attempt is calls by which a process wants to make a pod leave, and since when.
// It is open until one of them was the last.
type attempt struct {
	by   *process
	open bool
	from time.Duration
}

// attempts records a call that may be the first of an attempt.
func (s *sent) attempts() {
	if s.call.Verb == network.Patch && !marking(s.call) {
		return
	}
	if a := &s.pod.attempt; !a.open || a.by != s.process {
		*a = attempt{by: s.process, from: s.after, open: true}
		for _, share := range s.process.sharesOf(s.pod) {
			share.begun = s.at
		}
	}
}

// attempted takes the answer to a call that may be the last of an attempt. An
// attempt that found nothing to do, or was refused by a PodDisruptionBudget, gives
// its token back.
func (s *sent) attempted() {
	p, call := s.pod, s.call
	if model.Refused(call) {
		p.refused = s.world.Elapsed()
	}
	a := &p.attempt
	conflict := apierrors.IsConflict(call.Err)
	last := s.deletes() && !conflict || // else it may look again and go on
		call.Verb == network.Patch && marking(call) && call.Err != nil
	if !a.open || a.by != s.process || !last {
		return
	}
	a.open = false
	if conflict || model.Refused(call) || apierrors.IsNotFound(call.Err) || apierrors.IsInvalid(call.Err) {
		return
	}
	for _, share := range s.process.sharesOf(p) {
		if !share.acts.fit(span{a.from, s.at}, share.burst, share.at) {
			s.accuse(WithinBudget, "the budget %s allows %v a second and %v at once",
				share.name, share.rate, share.burst)
		}
	}
}
