package invariant

import (
	"bytes"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// share is what pods share a budget, as it looks from a client's calls.
type share struct {
	rate  float64
	burst float64
	// attempts are those that have used up a token, by when they began.
	attempts []attempt
	last     time.Duration // at which one of them ended
	// tokens at countedAt are those that must be there: each attempt that was
	// begun has used one. Before the calm there may have been others without a
	// call, by a client that fears that it does not lead any more. FreeAt is when
	// there is one again.
	tokens            float64
	countedAt, freeAt time.Duration
}

// attempt is calls by which a client wants to make a pod leave. Its token was
// used at some time from one moment to another.
type attempt struct{ from, to time.Duration }

// open is an attempt that may be under way: since when, when the last of its
// calls was answered, and whether that was its end.
type open struct {
	from, answered time.Duration
	over           bool
}

// manyAttempts is how many are remembered of a share.
const manyAttempts = 300

// budget is one that the flags ask for.
type budget struct {
	name string
	rate float64
	of   func(*pod) string
}

func (s *Settings) budgets() []budget {
	all := []budget{
		{"overall", s.Overall, func(*pod) string { return "" }},
		{"of its node", s.PerNode, func(p *pod) string { return p.on.name }},
		{"of its namespace", s.PerNamespace, func(p *pod) string { return p.namespace }},
	}
	return slices.DeleteFunc(all, func(b budget) bool { return b.rate == 0 })
}

type shareKey struct{ budget, of string }

// share returns a pod's share of a budget.
func (v *view) share(b *budget, p *pod) *share {
	key := shareKey{b.name, b.of(p)}
	found := v.shares[key]
	if found == nil {
		burst := float64(max(v.judge.settings.BudgetBurst, 1))
		found = &share{rate: b.rate, burst: burst}
		found.empty(v.emptyAt)
		v.shares[key] = found
	}
	return found
}

// begins records a call that may be the first of an attempt.
func (v *view) begins(now, after time.Duration, call *network.Call, p *pod) {
	if len(v.judge.budgets) == 0 || call.Verb == network.Patch && !marking(call) {
		return
	}
	o, known := v.attempts[p.uid]
	switch goesOn := known && o.answered >= after; {
	case goesOn && (!o.over || call.Verb == network.Get): // after a conflict it reads the pod again
		return
	case !known || o.over:
		v.attempts[p.uid] = &open{from: after}
	}
	for i := range v.judge.budgets {
		v.share(&v.judge.budgets[i], p).begin(now)
	}
}

// marking reports whether a patch marks a pod as about to be evicted.
func marking(call *network.Call) bool { return bytes.Contains(call.Data, []byte(`"DisruptionTarget"`)) }

func (s *share) begin(now time.Duration) {
	s.tokens = min(s.tokens+(now-s.countedAt).Seconds()*s.rate, s.burst)
	s.tokens = max(s.tokens-1, 0)
	s.countedAt = now
	if s.tokens < 1 {
		s.freeAt = now + time.Duration((1-s.tokens)/s.rate*float64(time.Second))
	}
}

// empty is a moment at which there may be no token.
func (s *share) empty(at time.Duration) {
	s.tokens, s.countedAt = 0, at
	s.freeAt = at + time.Duration(float64(time.Second)/s.rate)
}

// emptyBudgets records that the number of tokens is unknown.
func (v *view) emptyBudgets(now time.Duration) {
	v.emptyAt = now
	for _, s := range v.shares {
		s.empty(now)
	}
}

// tokenFor returns since when, or when, there is a token for a pod in every
// budget.
func (v *view) tokenFor(p *pod) time.Duration {
	at := time.Duration(-1)
	for i := range v.judge.budgets {
		at = max(at, v.share(&v.judge.budgets[i], p).freeAt)
	}
	return at
}

// ends takes the answer to a call that may be the last of an attempt.
func (v *view) ends(s *sent, call *network.Call, p *pod) {
	o, known := v.attempts[p.uid]
	if !known {
		return
	}
	o.answered = v.judge.world.Elapsed()
	switch call.Verb {
	case network.Patch:
		if !marking(call) || call.Err == nil {
			return
		}
	case network.Delete, network.Evict:
		if apierrors.IsConflict(call.Err) {
			return // it may look again and go on
		}
	default:
		return
	}
	if o.over {
		return
	}
	o.over = true
	if foundNothing(call) {
		return
	}
	for i := range v.judge.budgets {
		b := &v.judge.budgets[i]
		if share := v.share(b, p); !share.use(attempt{o.from, s.at}) {
			v.judge.violated(WithinBudget, b.name+b.of(p),
				"%s makes pods leave faster than the budget %s allows, %v a second and %v at once: now pod %s (%s) on node %s",
				v.client.Name, b.name, share.rate, share.burst, p.name, p.uid, p.on.name)
		}
	}
}

// foundNothing reports whether an attempt may have ended with nothing to do.
func foundNothing(call *network.Call) bool {
	return model.Refused(call) || apierrors.IsNotFound(call.Err) || apierrors.IsConflict(call.Err) ||
		apierrors.IsInvalid(call.Err)
}

// use notes an attempt that has used up a token, and reports whether there can
// have been one. There can if since each moment no more were used than there
// were and came in.
func (s *share) use(one attempt) bool {
	i, _ := slices.BinarySearchFunc(s.attempts, one.from,
		func(a attempt, from time.Duration) int { return int(a.from - from) })
	s.attempts = slices.Insert(s.attempts, i, one)
	s.last = max(s.last, one.to)
	for i := range s.attempts {
		since := s.attempts[i].from
		if float64(len(s.attempts)-i) > s.burst+s.rate*(s.last-since).Seconds()+almost {
			return false
		}
	}
	if len(s.attempts) > manyAttempts {
		s.attempts = slices.Delete(s.attempts, 0, 1)
	}
	return true
}
