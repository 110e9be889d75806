package network

import (
	"slices"
	"sort"
	"time"
)

// A Past is what the API server had at one moment, and what has changed since.
// It is what a server shows that lags behind the others.
type Past struct {
	network *Network
	at      time.Duration
	lists   [kinds]Listing
	since   [kinds][]dated
}

// dated is a change and when it happened.
type dated struct {
	at     time.Duration
	change Change
}

// shownPast is a past that some watches see.
type shownPast struct {
	past  *Past
	match func(*Client, Kind) bool
	// lags: a watch that begins in it stays as late as it is old.
	lags  bool
	shows []*watch // that began in it
}

// matches reports whether a watch lists from it now. A list is never older than
// what a watch has shown.
func (s *shownPast) matches(w *watch) bool {
	if !s.match(w.client, w.kind) {
		return false
	}
	if s.lags {
		return !w.synced && w.lists <= 1
	}
	return s.past.lists[w.kind].Version >= w.current()
}

// Remember returns a Past that begins now. It grows until Forget.
func (n *Network) Remember() *Past {
	past := &Past{network: n, at: n.Elapsed()}
	for kind := range past.lists {
		past.lists[kind] = n.server.All(Kind(kind))
	}
	n.faults.pasts = append(n.faults.pasts, past)
	return past
}

// At returns what there was at a later moment, and what has changed since. It
// grows until it is forgotten, too.
func (p *Past) At(at time.Duration) *Past {
	later := &Past{network: p.network, at: max(at, p.at)}
	for kind, list := range p.lists {
		since := p.since[kind]
		n := sort.Search(len(since), func(i int) bool { return since[i].at > at })
		later.lists[kind] = list.after(since[:n])
		later.since[kind] = slices.Clone(since[n:])
	}
	p.network.faults.pasts = append(p.network.faults.pasts, later)
	return later
}

// after returns what there is after some changes.
func (l Listing) after(changes []dated) Listing {
	later := Listing{Objects: slices.Clone(l.Objects), Version: l.Version}
	for _, d := range changes {
		later.Version = versionOf(d.change.Object)
		i := slices.IndexFunc(later.Objects, func(c Change) bool { return c.Name == d.change.Name })
		switch {
		case d.change.Gone && i >= 0:
			later.Objects = slices.Delete(later.Objects, i, i+1)
		case d.change.Gone:
		case i >= 0:
			later.Objects[i] = d.change
		default:
			later.Objects = append(later.Objects, d.change)
		}
	}
	return later
}

// Forget ends the recording.
func (p *Past) Forget() {
	p.network.faults.pasts = slices.DeleteFunc(p.network.faults.pasts, func(other *Past) bool { return other == p })
}

// Len returns how many changes of a kind have been recorded.
func (p *Past) Len(kind Kind) int { return len(p.since[kind]) }

// ShowPast answers the first lists of the clients that match from a past. Their
// watches then show all changes since, as late as that past was old, until
// catchUp is called. Reads of single objects, lists without a watch and writes
// meet the present.
func (n *Network) ShowPast(past *Past, match func(*Client) bool) (catchUp func()) {
	shown := &shownPast{past: past, lags: true, match: func(c *Client, _ Kind) bool { return match(c) }}
	end := During(&n.faults.shown, shown)
	return func() {
		end()
		for _, watch := range shown.shows {
			watch.lag = 0
		}
	}
}

// ListPast answers all lists of the watches that match from a past, until end
// is called. What has changed since follows as any other change does.
func (n *Network) ListPast(past *Past, match func(*Client, Kind) bool) (end func()) {
	return During(&n.faults.shown, &shownPast{past: past, match: match})
}

// pastFor returns the past from which a watch is to list, or nil.
func (f *faults) pastFor(w *watch) *shownPast {
	for _, shown := range slices.Backward(f.shown) {
		if shown.matches(w) {
			return shown
		}
	}
	return nil
}

// begin answers a list from a past.
func (w *watch) begin(shown *shownPast) {
	past, now := shown.past, w.client.network.Elapsed()
	w.deliverAt(Change{Kind: w.kind, list: &past.lists[w.kind]}, now)
	if !shown.lags {
		for _, c := range past.since[w.kind] {
			w.send(c.change)
		}
		return
	}
	shown.shows = append(shown.shows, w)
	w.lag = now - past.at
	for _, c := range past.since[w.kind] {
		w.deliverAt(c.change, c.at+w.lag)
	}
}
