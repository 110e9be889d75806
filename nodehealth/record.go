package nodehealth

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// record is what a [Monitor] knows of one key.
type record[K comparable] struct {
	entry *timedqueue.Entry[K, *record[K]]
	// recovered is when a key that is returning counts as alive.
	recovered time.Time
	uid       types.UID // of a node; empty for a key that is none

	// A heartbeat reads and writes the rest. With thousands of keys no record is
	// in a cache, so the fields are in one place.

	// since is when the key was last heard, or first seen if it was not heard.
	since time.Time
	// blind is how much time had been blind then.
	blind    time.Duration
	grace    time.Duration // of this key alone, or 0
	detector Detector      // nil for the fixed grace period
	round    uint32        // counts the tasks of this record
	setBacks uint8         // counts the records of its silence that were set back
	state    life
	reported bool // GracePeriod counts instead of StartupGracePeriod
	heard    bool // a heartbeat was observed
}

// life is where a key is in its life:
//
//	              Start, grace over        Finish done
//	absent ──► beating ────────► expired ───────────► silent ◄── (found silent)
//	             ▲                │ ▲ └──retry──► failed │  ▲
//	             │ Finish done    │ └────Start──────┘ ▲  │  │ shown silent
//	         announced            │ heartbeat         └──┴──┘
//	             ▲                ▼                     shown otherwise
//	             │ Start       returned
//	             │                │ Finish
//	             └── returning ◄──┴── heartbeat, from failed and silent
//
// While its silence is being recorded, expired becomes recorded when the record
// shows it, and undone when the record was shown and then set back. All three
// become returned when the key is heard.
//
// All transitions, by the call that makes them:
//
//	Observe    absent: beating, silent; expired: recorded, returned
//	Observe    recorded: undone; undone: recorded, returned
//	Observe    failed: silent, returning; silent: failed
//	Heartbeat  expired: returned; recorded: returned; undone: returned
//	Heartbeat  failed: returning; silent: returning
//	Start      beating: expired; failed: expired; returning: expired, announced
//	Finish     expired: silent, failed, returning; recorded: silent, returning
//	Finish     undone: failed, returning; returned: returning
//	Finish     announced: beating, returning
//
// Forget takes each state to absent.
type life uint8

const (
	// absent: the key is not watched.
	absent life = iota
	// beating: heard within its grace period, and due at its end.
	beating
	// expired: handed out as silent.
	expired
	// recorded: handed out as silent, and shown as silent since.
	recorded
	// undone: handed out as silent, shown as silent, and shown otherwise since.
	undone
	// returned: handed out as silent, and heard since.
	returned
	// failed: the record of its silence failed or was set back; it waits for its
	// next attempt.
	failed
	// silent: recorded as silent; it waits for a heartbeat.
	silent
	// returning: heard after a silence, and due to be announced.
	returning
	// announced: handed out as alive again.
	announced
)

func (l life) String() string {
	return [...]string{
		"absent", "beating", "expired", "recorded", "undone", "returned", "failed", "silent",
		"returning", "announced",
	}[l]
}

// countsAsSilent reports whether a key was silent and is not alive again.
func (l life) countsAsSilent() bool { return l >= expired && l <= returning }

// isReturning reports whether a key was silent, is heard again, and does not
// count as alive yet.
func (l life) isReturning() bool { return l == returned || l == returning }

// handedOutAsSilent reports whether a task StateSilent is under way.
func (l life) handedOutAsSilent() bool { return l >= expired && l <= returned }

// enter changes a record's state. No other function does.
func (r *record[K]) enter(next life) { r.state = next }
