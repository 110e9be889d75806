package blindness

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// The criterion, which knows no controller:
//
// A declaration is wrong when the node was silent for less than its grace
// period. The silence begins when the API server received the last beat that it
// answered before it received the declaration. A beat that was never answered is
// no beat.
//
// A living node is not silent while the API server is down, because it cannot
// be heard then. So the silence of a living node is counted without that time.
// The silence of a dead node is counted with it: it would not have beaten.
//
// A dead node is missed when it is not declared within three grace periods.
// These begin with its last beat, or when it can be found if that is later.
//
// The clock of the beats, of the declarations and of the outages is the same.

// missed is how long after it can be found, and after its last beat, a dead
// node is missed that is not declared.
const missed = 3 * grace

// A span is a stretch of time.
type span struct{ from, until time.Time }

// A fault is what all nodes have gone through.
type fault struct {
	// down is when the API server did not answer. Zero: it always did.
	down span
	// clear is from when on dead nodes can be found: the end of a fault that hides
	// them, or their death.
	clear time.Time
	// end is when the history ends.
	end time.Time
}

// Counts is the verdict.
type Counts struct {
	// Living and Dead are how many nodes there are of each.
	Living, Dead int
	// Wrong is how many nodes were declared wrongly, living or before they died.
	Wrong int
	// Silent is how many living nodes were declared after a silence that was as
	// long as the grace period. No controller could know better.
	Silent int
	// Tainted is how many living nodes had a NoExecute taint, and Evicted how many
	// pods of living nodes were deleted. Those of Silent are not in it.
	Tainted, Evicted int
	// Missed is how many dead nodes were not declared in time or not Unknown at
	// the end.
	Missed int
	// Latest is how long after its last beat the last dead node was declared.
	// The API server was down for LatestDown of it.
	Latest, LatestDown time.Duration
	// Declarations are the wrong ones, in order of time.
	Declarations []declaration
}

// A declaration says that a node is Unknown.
type declaration struct {
	node string
	at   time.Time
	// silence is how long the node was silent; down is not in it.
	silence, down time.Duration
}

var (
	errNoBeat  = errors.New("it was declared, and no beat of it is known")
	errTooSoon = errors.New("the history ends too soon to tell whether it is missed")
	errNoFault = errors.New("it is not known when the dead could be found")
)

// count judges a history. It fails when the history does not allow a verdict.
func count(nodes []fleet.Life, f fault) (*Counts, error) {
	if f.clear.IsZero() {
		return nil, errNoFault
	}
	var counts Counts
	for i := range nodes {
		n := &nodes[i]
		if err := counts.add(n, f); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	slices.SortFunc(counts.Declarations, func(a, b declaration) int { return a.at.Compare(b.at) })
	return &counts, nil
}

func (c *Counts) add(n *fleet.Life, f fault) error {
	all, err := declarations(n, f)
	if err != nil {
		return err
	}
	wrong := slices.DeleteFunc(slices.Clone(all), func(d declaration) bool { return d.silence >= grace })
	if len(wrong) > 0 {
		c.Wrong++
		c.Declarations = append(c.Declarations, wrong...)
	}
	if !n.Died.IsZero() {
		c.Dead++
		return c.addDead(n, all, f)
	}
	c.Living++
	if len(wrong) == 0 && len(all) > 0 {
		c.Silent++
		return nil
	}
	if len(n.Tainted) > 0 {
		c.Tainted++
	}
	c.Evicted += len(n.Deleted[pod])
	return nil
}

// declarations returns all declarations of a node. They are the writes of the
// audit log, and what was seen. A write whose answer the audit log lacks, because
// the API server was killed, is known only because it was seen.
func declarations(n *fleet.Life, f fault) (all []declaration, err error) {
	for _, at := range declared(n.Written, n.Unknown) {
		last, found := lastBeat(n.Beats, at)
		if !found {
			return nil, errNoBeat
		}
		d := declaration{node: n.Name, at: at, silence: at.Sub(last.Received)}
		if n.Died.IsZero() {
			d.down = f.down.overlap(span{last.Received, at})
			d.silence -= d.down
		}
		all = append(all, d)
	}
	return all, nil
}

// declared joins the writes with what was seen.
func declared(writes []time.Time, seen []witness.Sighting) []time.Time {
	all := slices.SortedFunc(slices.Values(writes), time.Time.Compare)
	unexplained := slices.Clone(all)
	for _, s := range seen {
		earlier := slices.IndexFunc(unexplained, s.At.After)
		if earlier < 0 {
			all = append(all, s.At)
			continue
		}
		// One sighting may stand for all writes before it.
		unexplained = slices.DeleteFunc(unexplained, s.At.After)
	}
	return all
}

// lastBeat returns the last of the beats that were answered before a time.
func lastBeat(beats []fleet.Beat, before time.Time) (last fleet.Beat, found bool) {
	for _, beat := range beats {
		if beat.Answered.Before(before) && beat.Received.After(last.Received) {
			last, found = beat, true
		}
	}
	return last, found
}

func (c *Counts) addDead(n *fleet.Life, all []declaration, f fault) error {
	last, found := lastBeat(n.Beats, f.end)
	if !found {
		return errNoBeat
	}
	deadline := latest(f.clear, last.Answered).Add(missed)
	if n.WantUnknown() != nil {
		if f.end.Before(deadline) {
			return errTooSoon
		}
		c.Missed++
		return nil
	}
	// A declaration before the last beat is about another silence.
	all = slices.DeleteFunc(all, func(d declaration) bool { return d.at.Before(last.Answered) })
	if len(all) == 0 {
		return nil // it was Unknown already when it died
	}
	first := slices.MinFunc(all, func(a, b declaration) int { return a.at.Compare(b.at) }).at
	if first.After(deadline) {
		c.Missed++
	}
	if late := first.Sub(last.Received); late > c.Latest {
		c.Latest = late
		c.LatestDown = f.down.overlap(span{last.Received, first})
	}
	return nil
}

// overlap is how much of a span lies in another.
func (s span) overlap(other span) time.Duration {
	return max(0, earliest(s.until, other.until).Sub(latest(s.from, other.from)))
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }

// record returns the verdict as rows, and the first of the wrong declarations. A
// history without living or without dead nodes proves nothing.
func (c *Counts) record() *sidebyside.Record {
	r := &sidebyside.Record{}
	count := func(title string, n int) *sidebyside.Row { return r.Add(title, sidebyside.Count, float64(n)) }
	count("living nodes", c.Living).AtLeast(1)
	count("declared", c.Wrong).AtMost(0)
	count("declared after a silence as long as the grace period", c.Silent)
	count("tainted", c.Tainted).AtMost(0)
	count("their pods evicted", c.Evicted).AtMost(0)
	count("dead nodes", c.Dead).AtLeast(1)
	count("missed", c.Missed).AtMost(0)
	r.Add("the last declared after", sidebyside.Seconds, c.Latest.Seconds())
	r.Add("of that without the API server", sidebyside.Seconds, c.LatestDown.Seconds())
	for _, d := range c.Declarations[:min(5, len(c.Declarations))] {
		r.Told = append(r.Told, fmt.Sprintf("%s declared at %s after a silence of %.1f s and %.1f s without the API server",
			d.node, d.at.Format("15:04:05.000"), d.silence.Seconds(), d.down.Seconds()))
	}
	return r
}
