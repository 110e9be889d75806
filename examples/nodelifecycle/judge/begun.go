package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// begun is since when something is so that makes pods leave: a taint, an illness,
// or that a pod is on its node.
type begun struct {
	// dated says that it has a time, which is written.
	dated   bool
	written time.Duration
	stored  time.Duration
	seen    sights
	// before is the first of its lineage.
	before *begun
}

// sights are when processes were first shown something.
type sights map[*network.Client]time.Duration

// see records it for a process.
func (s *sights) see(client *network.Client, now time.Duration) {
	if *s == nil {
		*s = make(sights)
	}
	if _, seen := (*s)[client]; !seen {
		(*s)[client] = now
	}
}

// earliest returns the earliest time from which a process may count it: from
// what is written and a second, or when it was stored. What appeared after the
// process had listed counts from ten seconds before that at most.
func (b *begun) earliest(p *process) time.Duration {
	at := b.stored
	if b.dated {
		at = min(at, b.written+time.Second-p.judge.settings.Skew)
		if p.synced >= 0 && p.synced < b.stored && p.judge.settings.Skew == 0 {
			at = max(at, b.stored-trusted)
		}
	}
	if b.before != nil {
		at = min(at, b.before.earliest(p))
	}
	return at
}

// latest returns the latest time from which a process counts it, which is never
// if it was not shown it.
func (b *begun) latest(p *process) time.Duration {
	seen, shown := b.seen[p.client]
	at := never
	if shown {
		at = seen
		if b.dated && p.judge.settings.Skew == 0 {
			at = min(at, b.written+time.Second)
			if p.synced >= 0 && seen > p.synced {
				at = max(at, seen-trusted)
			}
		}
	}
	if b.before != nil && !(b.dated && (!b.before.dated || b.written > b.before.written)) {
		at = min(at, b.before.latest(p))
	}
	return at
}

// illness is that a node is not ready.
type illness struct {
	begun
	// emptied is when a process made the first pod leave for it.
	emptied map[*network.Client]time.Duration
}

// taint is a NoExecute taint that is stored.
type taint struct {
	begun
	key, value string
	since      time.Duration // when one of its key was stored
}

func (t *taint) ours() bool { return illnessTaint(t.key) }

// newTaint returns a taint that is stored now. One without TimeAdded may have
// been taken away and set again while a process was shown nothing.
func (j *Judge) newTaint(now time.Duration, n *node, object *corev1.Taint, before []*taint) *taint {
	t := &taint{key: object.Key, value: object.Value, begun: begun{stored: now}, since: now}
	if !object.TimeAdded.IsZero() {
		t.dated, t.written = true, j.sinceStart(object.TimeAdded.Time)
	}
	for _, old := range before {
		if old.key == t.key && old.value == t.value && old.dated == t.dated && old.written == t.written {
			return old
		}
	}
	for _, old := range before {
		if old.key == t.key {
			t.since = old.since
		}
		if old.key == t.key || old.ours() && t.ours() {
			t.before = &old.begun
			if old.before != nil {
				t.before = old.before
			}
		}
	}
	if t.before == nil && !t.dated {
		t.before = n.undated(t.key)
	}
	return t
}

// undated returns an earlier taint of a key that has no TimeAdded.
func (n *node) undated(key string) *begun {
	for _, v := range n.versions {
		for _, t := range v.taints {
			if t.key == key && !t.dated && v.uid == n.object.UID {
				return &begun{stored: t.stored}
			}
		}
	}
	return nil
}
