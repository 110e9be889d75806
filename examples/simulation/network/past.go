package network

import (
	"slices"
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

// shownPast is a past that some clients see.
type shownPast struct {
	past  *Past
	match func(*Client) bool
	shows []*watch // that began in it
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
	shown := &shownPast{past: past, match: match}
	end := During(&n.faults.shown, shown)
	return func() {
		end()
		for _, watch := range shown.shows {
			watch.lag = 0
		}
	}
}

// pastFor returns the past in which a watch is to begin, or nil.
func (f *faults) pastFor(w *watch) *Past {
	if w.synced || w.lists > 1 {
		return nil
	}
	for _, shown := range slices.Backward(f.shown) {
		if shown.match(w.client) {
			shown.shows = append(shown.shows, w)
			return shown.past
		}
	}
	return nil
}

// begin answers the first list from a past.
func (w *watch) begin(past *Past) {
	now := w.client.network.Elapsed()
	w.lag = now - past.at
	w.deliverAt(Change{Kind: w.kind, list: &past.lists[w.kind]}, now)
	for _, c := range past.since[w.kind] {
		w.deliverAt(c.change, c.at+w.lag)
	}
}
