package report

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// shortestPause is how long nothing must happen before something that happens
	// to node after node is over. It is longer than the 10 s between heartbeats,
	// in which the nodes of a zone expire one by one.
	shortestPause = 15 * time.Second
	// longestPause bounds what slow rates and repetition make of it.
	longestPause = 5 * time.Minute
	// longestLine is after how long a line is told even if it goes on, because a
	// reader waits for it.
	longestLine = 10 * time.Minute
	// mostAgain is how many doublings lead from the shortest pause to the longest.
	mostAgain = 5
)

// timeline makes few lines of many happenings.
type timeline struct {
	tell func(Line)
	told []Line
	// open are the happenings that may go on, in the order in which they began.
	open []*happening
	// latest holds for each what the last happening was, open or not.
	latest map[happens]*happening
	// waiting are lines that must not be told yet, because one that began earlier
	// is not complete.
	waiting []placed
	placed  int
}

type happens struct {
	kind Kind
	zone string
}

// happening is something that happens to nodes of a zone.
type happening struct {
	happens
	place       int
	first, last time.Duration
	pause       time.Duration
	// again is how many times in a row it has begun again soon after it was over.
	// Each doubles the pause, so that nodes that come and go for an hour fill no
	// pages.
	again  int
	closed bool
	count  int
	nodes  map[string]struct{}
}

// placed is a line with its place among those that begin at the same time.
type placed struct {
	line  Line
	at    time.Duration
	place int
}

func newTimeline(tell func(Line)) timeline {
	return timeline{tell: tell, latest: make(map[happens]*happening)}
}

func (t *timeline) nextPlace() int {
	t.placed++
	return t.placed
}

// add adds a line of its own.
func (t *timeline) add(now time.Duration, line Line) {
	line.At = SecondsOf(now)
	t.waiting = append(t.waiting, placed{line, now, t.nextPlace()})
}

// happened adds what happened to a node, or to a pod on it. It belongs together
// with what happens next unless there is a pause between.
func (t *timeline) happened(now time.Duration, what happens, node string, pause time.Duration) {
	h := t.latest[what]
	if h != nil && !h.closed && h.over(now) {
		t.close(h)
	}
	if h == nil || h.closed {
		h = t.begin(now, what, h)
	}
	h.last, h.pause = now, min(pause<<h.again, max(pause, longestPause))
	h.count++
	h.nodes[node] = struct{}{}
}

// begin opens a happening. Before is the last one of its kind, if there was
// one.
func (t *timeline) begin(now time.Duration, what happens, before *happening) *happening {
	h := &happening{happens: what, place: t.nextPlace(), first: now, nodes: make(map[string]struct{})}
	if before != nil && now-before.last <= longestPause {
		h.again = min(before.again+1, mostAgain)
	}
	t.latest[what] = h
	t.open = append(t.open, h)
	return h
}

func (h *happening) over(now time.Duration) bool {
	return now-h.last > h.pause || now-h.first > longestLine
}

func (t *timeline) close(h *happening) {
	t.open = slices.DeleteFunc(t.open, func(other *happening) bool { return other == h })
	h.closed = true
	line := Line{
		At: SecondsOf(h.first), Kind: h.kind, Zone: h.zone,
		Count: h.count, Nodes: inOrder(slices.Collect(maps.Keys(h.nodes))),
	}
	if until := SecondsOf(h.last); until != line.At {
		line.Until = until
	}
	line.Text = describe(&line)
	t.waiting = append(t.waiting, placed{line, h.first, h.place})
}

// advance tells what is complete now.
func (t *timeline) advance(now time.Duration) {
	for _, h := range slices.Clone(t.open) {
		if h.over(now) {
			t.close(h)
		}
	}
	t.tellWaiting()
}

// end tells everything.
func (t *timeline) end() {
	for len(t.open) > 0 {
		t.close(t.open[0])
	}
	t.tellWaiting()
}

// tellWaiting tells the lines before the first happening that may go on.
func (t *timeline) tellWaiting() {
	if len(t.waiting) == 0 {
		return
	}
	slices.SortFunc(t.waiting, func(a, b placed) int { return cmp.Or(cmp.Compare(a.at, b.at), a.place-b.place) })
	i := 0
	for ; i < len(t.waiting); i++ {
		if next := &t.waiting[i]; len(t.open) > 0 &&
			(t.open[0].first < next.at || t.open[0].first == next.at && t.open[0].place < next.place) {
			break
		}
		t.told = append(t.told, t.waiting[i].line)
		if t.tell != nil {
			t.tell(t.waiting[i].line)
		}
	}
	t.waiting = slices.Delete(t.waiting, 0, i)
}

// pauseAt returns how far apart happenings are that follow a rate of so many a
// second, and still belong together.
func pauseAt(rate float64) time.Duration {
	if rate <= 0 {
		return shortestPause
	}
	between := 1.5 / rate * float64(time.Second)
	return time.Duration(min(max(between, float64(shortestPause)), float64(longestPause)))
}
