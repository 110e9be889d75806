package shadow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A Fact is one thing about an object that a controller can change: it holds or
// it does not. Both sides, the shadow and what happens in the cluster, change
// it back and forth.
type Fact struct {
	Object Object
	Kind   FactKind
	// Detail is the key of a taint or of a label, else empty.
	Detail string
}

// An Object is a node, without a namespace, or a pod.
type Object struct {
	Namespace, Name string
	UID             types.UID
}

// String returns the name, with the namespace of a pod in front of it.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// FactKind is a kind of fact.
type FactKind string

// The kinds of facts.
const (
	// FactKindUnknown: the node was declared Unknown.
	FactKindUnknown FactKind = "Unknown"
	// FactKindNoSchedule and FactKindNoExecute: the node has a taint of the key
	// that is Fact.Detail.
	FactKindNoSchedule FactKind = "NoSchedule"
	FactKindNoExecute  FactKind = "NoExecute"
	// FactKindLabel: the node's label of the key that is Fact.Detail says what the
	// newer label does.
	FactKindLabel FactKind = "Label"
	// FactKindPodNotReady: the pod was marked not ready.
	FactKindPodNotReady FactKind = "PodNotReady"
	// FactKindEvicted: the pod was evicted.
	FactKindEvicted FactKind = "Evicted"
)

// An Action is what makes a fact hold, or ends that.
type Action string

// The actions.
const (
	ActionDeclareUnknown   Action = "DeclareUnknown"
	ActionAddNoSchedule    Action = "AddNoSchedule"
	ActionRemoveNoSchedule Action = "RemoveNoSchedule"
	ActionAddNoExecute     Action = "AddNoExecute"
	ActionRemoveNoExecute  Action = "RemoveNoExecute"
	ActionSetLabel         Action = "SetLabel"
	ActionMarkPodNotReady  Action = "MarkPodNotReady"
	ActionEvictPod         Action = "EvictPod"
)

// actions are all actions and verdicts all verdicts, in the order in which they
// are shown.
var (
	actions = [...]Action{
		ActionDeclareUnknown, ActionAddNoSchedule, ActionRemoveNoSchedule,
		ActionAddNoExecute, ActionRemoveNoExecute, ActionSetLabel,
		ActionMarkPodNotReady, ActionEvictPod,
	}
	verdicts = [...]Verdict{
		VerdictSame, VerdictEarlier, VerdictLater,
		VerdictOnlyShadow, VerdictOnlyCluster, VerdictOpen,
	}
)

// actionOf returns the action that changes a fact of a kind.
func actionOf(kind FactKind, holds bool) Action {
	switch kind {
	case FactKindUnknown:
		return ActionDeclareUnknown
	case FactKindNoSchedule:
		if holds {
			return ActionAddNoSchedule
		}
		return ActionRemoveNoSchedule
	case FactKindNoExecute:
		if holds {
			return ActionAddNoExecute
		}
		return ActionRemoveNoExecute
	case FactKindLabel:
		return ActionSetLabel
	case FactKindPodNotReady:
		return ActionMarkPodNotReady
	case FactKindEvicted:
		return ActionEvictPod
	}
	return ""
}

// Verdict says how the two sides compare in one action.
type Verdict string

// The verdicts.
const (
	// VerdictSame: both did it, within the tolerance.
	VerdictSame Verdict = "Same"
	// VerdictEarlier and VerdictLater: both did it, the shadow earlier or later.
	VerdictEarlier Verdict = "Earlier"
	VerdictLater   Verdict = "Later"
	// VerdictOnlyShadow: it did not happen before it was over, for example because
	// the node was heard again.
	VerdictOnlyShadow Verdict = "OnlyShadow"
	// VerdictOnlyCluster: it happened, and the shadow would not have done it.
	VerdictOnlyCluster Verdict = "OnlyCluster"
	// VerdictOpen: one side did it, and the other still may.
	VerdictOpen Verdict = "Open"
)

// A Difference is an action in which the sides differ.
type Difference struct {
	Object  Object
	Action  Action
	Detail  string
	Verdict Verdict
	// Shadow is when the shadow decided, and Cluster when its watch showed what
	// happened. One is zero for a side that did not.
	Shadow, Cluster time.Time
	// Ended is when it was over for the verdicts OnlyShadow and OnlyCluster. The
	// side took it back, the node was heard again, or the object was gone.
	Ended time.Time
}

// By returns how much later than the cluster the shadow was, negative if it was
// earlier, and zero if only one of them did it.
func (d *Difference) By() time.Duration {
	if d.Shadow.IsZero() || d.Cluster.IsZero() {
		return 0
	}
	return d.Shadow.Sub(d.Cluster)
}

// at is when the first side did it.
func (d *Difference) at() time.Time {
	if d.Shadow.IsZero() || !d.Cluster.IsZero() && d.Cluster.Before(d.Shadow) {
		return d.Cluster
	}
	return d.Shadow
}

// compareDifferences orders differences by time. Names make the order the same
// each time.
func compareDifferences(a, b Difference) int {
	if c := a.at().Compare(b.at()); c != 0 {
		return c
	}
	if c := strings.Compare(a.Object.String(), b.Object.String()); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.Action), string(b.Action)); c != 0 {
		return c
	}
	return strings.Compare(a.Detail, b.Detail)
}

// ErrInvalidConfig is wrapped by the errors of this package's configs.
var ErrInvalidConfig = errors.New("invalid shadow config")

// DefaultMostKept is RecordConfig.MostKept if that is zero, and DefaultProgram
// RecordConfig.Program if that is empty.
const (
	DefaultMostKept = 1000
	DefaultProgram  = "nodelifecycle"
)

// RecordConfig configures a [Record].
type RecordConfig struct {
	// Tolerance is by how much the two sides may differ in time and still count as
	// the same. Zero means not at all.
	Tolerance time.Duration
	// MostKept is how many differences of each action and verdict are kept, the
	// first ones. Further ones are counted. Zero means DefaultMostKept.
	MostKept int
	// Program is the name of the program that runs the shadow, for its pages.
	// Empty means DefaultProgram.
	Program string
}

// Validate joins everything that is wrong with the config.
func (c RecordConfig) Validate() error {
	var problems []error
	if c.Tolerance < 0 {
		problems = append(problems, fmt.Errorf("%w: RecordConfig.Tolerance is %v, want zero or more",
			ErrInvalidConfig, c.Tolerance))
	}
	if c.MostKept < 0 {
		problems = append(problems, fmt.Errorf("%w: RecordConfig.MostKept is %d, want zero or more",
			ErrInvalidConfig, c.MostKept))
	}
	return errors.Join(problems...)
}

// A Record compares what a shadow would have done with what happened. Each side
// reports when it changes a fact. A change is open until the other side makes
// it, too, or it is over. What agrees is counted and dropped. So the memory is
// that of the open changes, at most a few for an object, and of the kept
// differences.
type Record struct {
	config RecordConfig
	open   map[Fact]opened
	// waiting counts what is in open.
	waiting map[sideKey]int
	kept    map[tallyKey][]Difference
	tally   map[tallyKey]Tally
	history history
}

// opened is a change that one side has made and the other has not.
type opened struct {
	shadow bool // the side
	holds  bool // what the fact became
	at     time.Time
}

type tallyKey struct {
	action  Action
	verdict Verdict
}

type sideKey struct {
	action Action
	shadow bool
}

// A Tally counts the comparisons of one action with one verdict.
type Tally struct {
	Action  Action
	Verdict Verdict
	Count   int
	// Most is the largest time between the two sides, in either direction. Zero if
	// only one of them did it.
	Most time.Duration
	// Dropped is how many of the differences are not kept.
	Dropped int
}

// NewRecord returns a record in which the two sides agree about all facts.
func NewRecord(config RecordConfig) (*Record, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.MostKept == 0 {
		config.MostKept = DefaultMostKept
	}
	return &Record{
		config: config,

		open:    make(map[Fact]opened),
		waiting: make(map[sideKey]int),
		kept:    make(map[tallyKey][]Difference),
		tally:   make(map[tallyKey]Tally),
	}, nil
}

// Shadow records that the shadow has decided to change a fact.
func (r *Record) Shadow(now time.Time, fact Fact, holds bool) { r.change(now, fact, true, holds) }

// Cluster records that a fact was seen to change.
func (r *Record) Cluster(now time.Time, fact Fact, holds bool) { r.change(now, fact, false, holds) }

func (r *Record) change(now time.Time, fact Fact, shadow, holds bool) {
	action := actionOf(fact.Kind, holds)
	o, found := r.open[fact]
	switch {
	case !found:
		o = opened{shadow, holds, now}
		r.open[fact] = o
		r.waiting[sideKey{action, shadow}]++
	case o.shadow != shadow && o.holds == holds:
		r.close(fact, o)
		r.pair(now, fact, o)
	case o.shadow == shadow && o.holds != holds: // it took the change back
		r.close(fact, o)
		r.single(now, fact, o)
	default:
		return // this side has it so already
	}
	r.history.add(now, action, shadow)
}

// End records that a fact is over without an action of a side, for example
// because a node is heard again. The two sides agree then.
func (r *Record) End(now time.Time, fact Fact) {
	if o, found := r.open[fact]; found {
		r.close(fact, o)
		r.single(now, fact, o)
	}
}

// shadowIsAhead reports whether the shadow has changed a fact and the cluster
// has not.
func (r *Record) shadowIsAhead(fact Fact) bool {
	o, found := r.open[fact]
	return found && o.shadow
}

func (r *Record) close(fact Fact, o opened) {
	delete(r.open, fact)
	r.waiting[sideKey{actionOf(fact.Kind, o.holds), o.shadow}]--
}

// pair counts a change that both sides have made, the second one now.
func (r *Record) pair(now time.Time, fact Fact, first opened) {
	d := first.difference(fact)
	if first.shadow {
		d.Cluster = now
	} else {
		d.Shadow = now
	}
	switch by := d.By(); {
	case by.Abs() <= r.config.Tolerance:
		d.Verdict = VerdictSame
	case by < 0:
		d.Verdict = VerdictEarlier
	default:
		d.Verdict = VerdictLater
	}
	r.count(d)
}

// single counts a change that only one side has made, and that is over.
func (r *Record) single(now time.Time, fact Fact, only opened) {
	d := only.difference(fact)
	d.Verdict, d.Ended = VerdictOnlyCluster, now
	if only.shadow {
		d.Verdict = VerdictOnlyShadow
	}
	r.count(d)
}

// difference returns what is known while the other side has not made the
// change.
func (o opened) difference(fact Fact) Difference {
	d := Difference{
		Object: fact.Object, Action: actionOf(fact.Kind, o.holds), Detail: fact.Detail,
		Verdict: VerdictOpen,
	}
	if o.shadow {
		d.Shadow = o.at
	} else {
		d.Cluster = o.at
	}
	return d
}

func (r *Record) count(d Difference) {
	key := tallyKey{d.Action, d.Verdict}
	t := r.tally[key]
	t.Action, t.Verdict = d.Action, d.Verdict
	t.Count++
	t.Most = max(t.Most, d.By().Abs())
	switch {
	case d.Verdict == VerdictSame:
	case len(r.kept[key]) < r.config.MostKept:
		r.kept[key] = append(r.kept[key], d)
	default:
		t.Dropped++
	}
	r.tally[key] = t
}

// Tallies returns the count of each action and verdict that has occurred, in
// order. Those with the verdict Open are the changes that wait now.
func (r *Record) Tallies() []Tally {
	tallies := slices.Collect(maps.Values(r.tally))
	for key, count := range r.waiting {
		if count == 0 {
			continue
		}
		i := slices.IndexFunc(tallies, func(t Tally) bool {
			return t.Action == key.action && t.Verdict == VerdictOpen
		})
		if i < 0 {
			tallies = append(tallies, Tally{Action: key.action, Verdict: VerdictOpen})
			i = len(tallies) - 1
		}
		tallies[i].Count += count
	}
	slices.SortFunc(tallies, func(a, b Tally) int {
		if c := slices.Index(actions[:], a.Action) - slices.Index(actions[:], b.Action); c != 0 {
			return c
		}
		return slices.Index(verdicts[:], a.Verdict) - slices.Index(verdicts[:], b.Verdict)
	})
	return tallies
}

// Waiting returns how many changes of an action one side has made, and the
// other may still make.
func (r *Record) Waiting(action Action, shadow bool) int {
	return r.waiting[sideKey{action, shadow}]
}

// Differences returns up to limit differences, by the time of the first side.
// Those that are over come first, and then, if there is room, any open ones.
func (r *Record) Differences(limit int) []Difference { return r.listed(limit).differences(limit) }

// listed is what a list of differences is made of. It costs no copy of those
// that are kept, which are never modified, so that it can be sorted later.
type listed struct {
	kept [][]Difference
	open []Difference
}

func (r *Record) listed(limit int) listed {
	l := listed{kept: slices.Collect(maps.Values(r.kept))}
	room := limit
	for _, kept := range l.kept {
		room -= len(kept)
	}
	for fact, o := range r.open {
		if len(l.open) >= room {
			break
		}
		l.open = append(l.open, o.difference(fact))
	}
	return l
}

func (l listed) differences(limit int) []Difference {
	all := slices.Concat(l.kept...)
	slices.SortFunc(all, compareDifferences)
	all = append(all[:min(limit, len(all))], l.open...)
	slices.SortFunc(all, compareDifferences)
	return all
}
