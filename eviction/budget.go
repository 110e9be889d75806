package eviction

import (
	"container/heap"
	"fmt"
	"iter"
	"math"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A Budget limits how fast pods leave that have something in common: a node, a
// namespace, an owner, a zone, or all of them. A pod leaves when each budget has a
// token for it. One that has to wait does not hold up pods that need not: each value
// that the budget's function returns is a share with tokens of its own. So a pod that
// needs tokens of two scarce shares may be overtaken by pods that need one of them.
//
// An attempt that fails has used up its tokens, since it costs the API server as
// much as one that succeeds. One that finds nothing to do, or that a
// PodDisruptionBudget refuses, has not: they count as never used, as far as the share
// would have kept them; see timedqueue.Token. The taking back of a mark needs none.
type Budget struct {
	// Name tells budgets apart: in Tracker.Pending, in metrics, for SetLimit. Required.
	Name string
	// ByPod or ByNode name the share. They are asked when a pod or a node is observed.
	// With neither all pods share the budget; there cannot be both.
	ByPod  func(*corev1.Pod) string
	ByNode func(*corev1.Node) string
	// Limit is how many pods of a share may leave a second. [rate.Inf] is no limit, zero
	// holds them; see Tracker.SetLimit.
	Limit rate.Limit
	// Burst is how many may leave at once after a time in which none did. Zero means 1.
	Burst int
}

func (b Budget) validate(names map[string]bool) error {
	if b.ByPod != nil && b.ByNode != nil {
		return fmt.Errorf("%w: budget %q has both ByPod and ByNode", ErrInvalidConfig, b.Name)
	}
	return validateBudget(names, b.Name, b.Limit, b.Burst)
}

// validateBudget reports what is wrong with a budget, given the names of those before
// it, to which it adds its own.
func validateBudget(names map[string]bool, name string, limit rate.Limit, burst int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: a budget has no name", ErrInvalidConfig)
	case limit < 0 || math.IsNaN(float64(limit)):
		return fmt.Errorf("%w: budget %q: Limit is %v, want zero or more", ErrInvalidConfig, name, limit)
	case burst < 0:
		return fmt.Errorf("%w: budget %q: Burst is %d, want zero or more", ErrInvalidConfig, name, burst)
	case names[name]:
		return fmt.Errorf("%w: two budgets are named %q", ErrInvalidConfig, name)
	}
	names[name] = true
	return nil
}

// budgets are those of a schedule. Each keyed one has shares. Entries for which a
// share has no token stand in the share's own heap, so that they cost nothing while
// they wait. The shares with entries are in one of two heaps: open, when they have a
// token, ordered by who would go first; closed, ordered by when they will have one.
//
// An entry that needs tokens of two shares stands in the one that makes it wait
// longer. When that has a token and the other has none, the entry moves over. So a
// start costs at most a move of each entry that waits for the smaller of its
// shares, and in the end O(log n): with a budget a node that is the pods of a node.
type budgets[K comparable, V any] struct {
	common []*commonBudget[K, V]
	keyed  []*keyedBudget[K, V]
	before func(a, b *entry[K, V]) bool

	opened shares[K, V]
	closed shares[K, V]
}

func (b *budgets[K, V]) orderBy(before func(a, b *entry[K, V]) bool) {
	b.before = before
	b.opened.before = func(a, b *share[K, V]) bool { return before(a.parked.first(), b.parked.first()) }
	b.closed.before = func(a, b *share[K, V]) bool { return a.wake < b.wake }
}

// A commonBudget is one that all entries share. While it has no token nobody is
// looked at, so nobody has to stand anywhere.
type commonBudget[K comparable, V any] struct {
	name string
	share[K, V]
}

type keyedBudget[K comparable, V any] struct {
	name   string
	of     func(*V) string
	limit  rate.Limit
	burst  int
	limits map[string]rate.Limit // of shares that have one of their own
	shares map[string]*share[K, V]
	sweep  int // how many shares there are when full ones are dropped next
}

type share[K comparable, V any] struct {
	budget *keyedBudget[K, V]
	bucket timedqueue.Bucket
	parked queue[K, V]
	in     *shares[K, V] // the heap that it is in, nil for none
	index  int
	wake   time.Duration // when it has a token, while it is closed
}

func (b *budgets[K, V]) add(name string, of func(*V) string, limit rate.Limit, burst int) {
	if of == nil {
		b.common = append(b.common, &commonBudget[K, V]{name, share[K, V]{bucket: timedqueue.NewBucket(limit, burst)}})
		return
	}
	b.keyed = append(b.keyed, &keyedBudget[K, V]{
		name: name, of: of, limit: limit, burst: burst,
		limits: make(map[string]rate.Limit),
		shares: make(map[string]*share[K, V]),
		sweep:  minSweep,
	})
}

const minSweep = 64

// setLimit changes the rate of one share, or of a budget that all share.
func (b *budgets[K, V]) setLimit(now time.Duration, name, key string, limit rate.Limit) bool {
	for _, c := range b.common {
		if c.name == name {
			c.bucket.SetLimit(now, limit)
			return true
		}
	}
	for _, k := range b.keyed {
		if k.name != name {
			continue
		}
		k.limits[key] = limit
		if limit == k.limit {
			delete(k.limits, key)
		}
		if s, known := k.shares[key]; known {
			s.bucket.SetLimit(now, limit)
			b.file(s, now)
		}
		return true
	}
	return false
}

// wait returns how long it is until the common budgets have a token.
func (b *budgets[K, V]) wait(now time.Duration) (time.Duration, bool) {
	longest := time.Duration(0)
	for _, c := range b.common {
		wait, ok := c.bucket.Until(now)
		if !ok {
			return 0, false
		}
		longest = max(longest, wait)
	}
	return longest, true
}

// blocking returns the name of a common budget without a token, if there is one.
func (b *budgets[K, V]) blocking(now time.Duration) string {
	for _, c := range b.common {
		if wait, ok := c.bucket.Until(now); !ok || wait > 0 {
			return c.name
		}
	}
	return ""
}

// exhausted returns the share of an entry that makes it wait longest, and nil if it
// has all the tokens that it needs.
func (b *budgets[K, V]) exhausted(e *entry[K, V], now time.Duration) *share[K, V] {
	var worst *share[K, V]
	longest := time.Duration(0)
	for _, k := range b.keyed {
		s := k.share(k.of(&e.value), now, b.before)
		wait, ok := s.bucket.Until(now)
		if !ok {
			return s
		}
		if wait > longest {
			worst, longest = s, wait
		}
	}
	return worst
}

// spend uses up the tokens that an entry needs, all of which are there, and returns
// whose they were.
func (b *budgets[K, V]) spend(e *entry[K, V], now time.Duration) []spent[K, V] {
	if len(b.common)+len(b.keyed) == 0 {
		return nil
	}
	tokens := make([]spent[K, V], 0, len(b.common)+len(b.keyed))
	take := func(s *share[K, V]) {
		token, _ := s.bucket.Take(now)
		b.file(s, now)
		tokens = append(tokens, spent[K, V]{s, token})
	}
	for _, c := range b.common {
		take(&c.share)
	}
	for _, k := range b.keyed {
		take(k.share(k.of(&e.value), now, b.before))
	}
	return tokens
}

// spent is a token of a share that was used up.
type spent[K comparable, V any] struct {
	share *share[K, V]
	token timedqueue.Token
}

// giveBack returns tokens that were used for nothing.
func (b *budgets[K, V]) giveBack(tokens []spent[K, V], now time.Duration) {
	for _, s := range tokens {
		s.token.GiveBack(now)
		b.file(s.share, now)
	}
}

func (b *budgets[K, V]) park(e *entry[K, V], in *share[K, V], now time.Duration) {
	if e.attempt == nil {
		e.attempt = new(attempt[K, V])
	}
	e.attempt.parked = in
	heap.Push(&in.parked, e)
	b.file(in, now)
}

func (b *budgets[K, V]) unpark(e *entry[K, V], now time.Duration) {
	in := e.attempt.parked
	e.attempt.parked = nil
	heap.Remove(&in.parked, int(e.index))
	b.file(in, now)
}

// file puts a share into the heap that it belongs in.
func (b *budgets[K, V]) file(s *share[K, V], now time.Duration) {
	if s.in != nil {
		heap.Remove(s.in, s.index)
		s.in = nil
	}
	if s.parked.Len() == 0 {
		return
	}
	wait, ok := s.bucket.Until(now)
	s.wake = now + wait
	switch {
	case !ok:
		s.wake = math.MaxInt64
		fallthrough
	case wait > 0:
		s.in = &b.closed
	default:
		s.in = &b.opened
	}
	heap.Push(s.in, s)
}

// open takes note of the shares that have a token by now.
func (b *budgets[K, V]) open(now time.Duration) {
	for len(b.closed.list) > 0 && b.closed.list[0].wake <= now {
		b.file(b.closed.list[0], now)
	}
}

// first returns the first of the entries whose share has a token again.
func (b *budgets[K, V]) first() *entry[K, V] {
	if len(b.opened.list) == 0 {
		return nil
	}
	return b.opened.list[0].parked.first()
}

// next returns when an entry that stands in a share can go on.
func (b *budgets[K, V]) next(now time.Duration) time.Duration {
	if len(b.opened.list) > 0 {
		return now
	}
	if len(b.closed.list) > 0 {
		return b.closed.list[0].wake
	}
	return math.MaxInt64
}

func (b *budgets[K, V]) parked() iter.Seq[*entry[K, V]] {
	return func(yield func(*entry[K, V]) bool) {
		for _, heap := range [...]*shares[K, V]{&b.opened, &b.closed} {
			for _, s := range heap.list {
				for _, e := range s.parked.entries {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// share returns a share of a budget. Those that nobody needs are dropped now and
// then: a full one that is dropped is full when it is wanted again.
func (k *keyedBudget[K, V]) share(key string, now time.Duration, before func(a, b *entry[K, V]) bool) *share[K, V] {
	if s, known := k.shares[key]; known {
		return s
	}
	if len(k.shares) >= k.sweep {
		for key, s := range k.shares {
			if s.parked.Len() == 0 && s.bucket.Full(now) {
				delete(k.shares, key)
			}
		}
		k.sweep = max(minSweep, 2*len(k.shares))
	}
	limit, own := k.limits[key]
	if !own {
		limit = k.limit
	}
	s := &share[K, V]{budget: k, bucket: timedqueue.NewBucket(limit, k.burst), parked: queue[K, V]{before: before}}
	k.shares[key] = s
	return s
}

// shares is a heap of shares that know where they stand in it.
type shares[K comparable, V any] struct {
	list   []*share[K, V]
	before func(a, b *share[K, V]) bool
}

var _ heap.Interface = (*shares[int, int])(nil)

func (h *shares[K, V]) Len() int           { return len(h.list) }
func (h *shares[K, V]) Less(i, j int) bool { return h.before(h.list[i], h.list[j]) }

func (h *shares[K, V]) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

// Push and Pop are for package heap.
func (h *shares[K, V]) Push(x any) {
	s, _ := x.(*share[K, V]) // nothing else is pushed
	s.index = len(h.list)
	h.list = append(h.list, s)
}

func (h *shares[K, V]) Pop() any {
	last := len(h.list) - 1
	s := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return s
}
