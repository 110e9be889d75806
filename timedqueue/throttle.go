package timedqueue

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// A Kind is one kind of work under a [Throttle].
type Kind struct {
	// Name identifies the kind in errors. It is unique within a throttle.
	Name string
	// Source hands out the jobs of the kind. Required.
	Source Source[Job]
	// Reserved is the part of the tokens that the kind gets while it has a task
	// that can start. Zero reserves none. All parts together are at most 1.
	Reserved float64
	// Cost is the most tokens that one task spends. Zero means 1.
	Cost int
}

// ThrottleConfig says what a [Throttle] limits.
type ThrottleConfig struct {
	// Limit is how many tokens are earned a second. [rate.Inf] is no limit.
	// Required.
	Limit rate.Limit
	// Burst is how many tokens can be saved up. A throttle starts with all of
	// them. Zero means 1.
	Burst int
	// Kinds are the kinds of work. A token that is reserved for none of them goes
	// to the first that has a task.
	Kinds []Kind
}

// Validate joins all that is wrong with the config.
func (c ThrottleConfig) Validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: %s", ErrInvalidConfig, fmt.Sprintf(format, args...)))
	}
	if !isLimit(c.Limit) {
		complain("ThrottleConfig.Limit is %v, want more than zero, or rate.Inf for no limit", c.Limit)
	}
	if c.Burst < 0 {
		complain("ThrottleConfig.Burst is %d, want zero or more", c.Burst)
	}
	names, cores, sum := make(map[string]bool), make(map[any]bool), 0.0
	for _, kind := range c.Kinds {
		if names[kind.Name] {
			complain("two kinds have the name %q, want one of each", kind.Name)
		}
		names[kind.Name] = true
		if kind.Source == nil {
			complain("kind %q: Source is nil, want a source", kind.Name)
		} else if err := validateSource("Source", kind.Source, cores); err != nil {
			problems = append(problems, fmt.Errorf("kind %q: %w", kind.Name, err))
		}
		if !(kind.Reserved >= 0) { // also NaN
			complain("kind %q: Reserved is %v, want zero or more", kind.Name, kind.Reserved)
		}
		if kind.Cost < 0 {
			complain("kind %q: Cost is %d, want zero or more", kind.Name, kind.Cost)
		}
		sum += kind.Reserved
	}
	if sum > 1+roundingError {
		complain("Reserved adds up to %v, want at most 1", sum)
	}
	return errors.Join(problems...)
}

// A Throttle limits what the jobs of several sources spend together, for
// example all requests of a controller to the API server. It is a source of
// jobs itself. A source is asked for a task only when the tokens for that task
// are at hand. [InOrder] and [RoundRobin] compose sources without a limit.
//
// Each task takes the Cost of its kind. When its job ends, what it did not spend
// returns; see [Unspent]. A kind saves up the tokens of an expensive task one by
// one, so that cheap tasks of other kinds do not starve it. What a task returns
// is saved up for the next one of its kind, if that can start.
//
// While a kind has a task that can start, it gets at least its reserved part of
// the tokens granted, less its Cost. Counted from any later moment, it is less
// one more, because the kind may have been ahead. A gap between two tokens does
// not end the stretch. No token waits while a kind has a task that can start,
// except those that are saved up for such a task. Returned tokens that are not
// saved up count as granted.
//
// Start asks each source for its Next. A Throttle has no clock, and is not safe
// for concurrent use. Now never goes backwards inside it.
type Throttle struct {
	clock  clock
	bucket bucket
	parts  *parts
	kinds  []savings
	// sources are those of the kinds. Only its Next is called.
	sources Source[Job]
}

// savings are the tokens that a kind has saved up for its next task.
type savings struct {
	Kind
	tokens int
	// While Start chooses: the source says that it has a task; it was asked for
	// one and had none.
	startable, empty bool
}

// grantedTokens are the tokens that a task of a kind was started with.
type grantedTokens struct {
	by           *Throttle
	kind, tokens int
}

func (g grantedTokens) settle(now time.Time, unused int) { g.by.settle(now, g, unused) }

// NewThrottle returns a throttle with its burst of tokens from now on, which
// must not be the zero time.
func NewThrottle(config ThrottleConfig, now time.Time) (*Throttle, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if now.IsZero() {
		return nil, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig)
	}
	t := &Throttle{clock: clock{epoch: now}, bucket: newBucket(config.Limit, config.Burst)}
	part := make([]float64, len(config.Kinds))
	for i, kind := range config.Kinds {
		kind.Cost = max(kind.Cost, 1)
		t.kinds = append(t.kinds, savings{Kind: kind})
		part[i] = kind.Reserved
	}
	sources := make([]Source[Job], len(config.Kinds))
	for i := range config.Kinds {
		sources[i] = config.Kinds[i].Source
	}
	t.parts, t.sources = newParts(part), InOrder(sources...)
	return t, nil
}

// validate looks for cores that have jobs elsewhere: NewThrottle has validated
// the rest.
func (t *Throttle) validate(cores map[any]bool) error {
	return validateSource("sources", t.sources, cores)
}

// Start hands out a job that may start now.
func (t *Throttle) Start(now time.Time) (Job, bool) {
	now = t.clock.advance(now)
	for i := range t.kinds {
		t.kinds[i].empty = false
	}
	t.findStartable(now)
	for {
		kind, ok := t.choose()
		if !ok {
			return Job{}, false
		}
		if job, ok := t.save(now, kind); ok {
			return job, true
		}
	}
}

// settle returns the unused ones of the tokens of a task. The others are spent.
func (t *Throttle) settle(now time.Time, granted grantedTokens, unused int) {
	now = t.clock.advance(now)
	unused = min(max(unused, 0), granted.tokens)
	// They are saved up for the next task of the kind. Otherwise tasks that spend
	// less than their Cost would lose that much of their reserved part. The next
	// task's last token comes from choose.
	if unused > 0 && t.kinds[granted.kind].canStart(now) {
		k := &t.kinds[granted.kind]
		saved := min(unused, k.Cost-1-k.tokens)
		k.tokens += saved
		unused -= saved
	}
	t.putBack(unused)
}

func (t *Throttle) putBack(tokens int) {
	for range tokens {
		t.bucket.putBack(t.clock.now)
	}
}

// Next returns when to call Start: no later than it can next hand something
// out. It returns false when no source has a task to come, or the limit is
// zero.
func (t *Throttle) Next(now time.Time) (time.Time, bool) {
	now = t.clock.advance(now)
	wait, ok := t.bucket.until(t.clock.now)
	if !ok {
		return time.Time{}, false
	}
	next, ok := t.sources.Next(now)
	if !ok {
		return time.Time{}, false
	}
	if token := now.Add(wait); token.After(next) {
		return token, true
	}
	return next, true
}

// findStartable finds the kinds that have a task. A kind that has none returns
// its savings.
func (t *Throttle) findStartable(now time.Time) {
	for i := range t.kinds {
		k := &t.kinds[i]
		if k.startable = k.canStart(now) && !k.empty; !k.startable {
			t.giveUp(i)
		}
	}
}

// canStart reports whether the source says that it has a task for now.
func (s *savings) canStart(now time.Time) bool {
	next, ok := s.Source.Next(now)
	return ok && !next.After(now)
}

// choose takes a token and returns the kind that it is for. It returns false
// when there is no token, or no kind has a task.
func (t *Throttle) choose() (int, bool) {
	if wait, ok := t.bucket.until(t.clock.now); !ok || wait > 0 {
		return 0, false
	}
	has := func(kind int) bool { return t.kinds[kind].startable }
	kind, entitled := t.parts.entitled(has)
	for i := 0; !entitled && i < len(t.kinds); i++ {
		if has(i) {
			kind, entitled = i, true
		}
	}
	if entitled {
		t.parts.granted(kind, has)
	}
	return kind, entitled
}

// save adds a token to the savings of a kind, and starts a task if they are
// enough.
func (t *Throttle) save(now time.Time, kind int) (Job, bool) {
	k := &t.kinds[kind]
	t.bucket.take(t.clock.now)
	if k.tokens++; k.tokens < k.Cost {
		return Job{}, false
	}
	job, ok := k.Source.Start(now)
	if !ok { // its Next was too early, or its Start gave another source a task
		k.empty = true
		t.findStartable(now)
		return Job{}, false
	}
	if job.task != nil { // or the dispatcher stops
		job.task.charge(grantedTokens{t, kind, k.tokens})
	}
	k.tokens = 0
	return job, true
}

// giveUp returns the savings of a kind whose task is gone. Its next task starts
// without a debt for those tokens.
func (t *Throttle) giveUp(kind int) {
	k := &t.kinds[kind]
	if k.tokens == 0 {
		return
	}
	t.putBack(k.tokens)
	k.tokens = 0
	t.parts.had[kind] = false
}
