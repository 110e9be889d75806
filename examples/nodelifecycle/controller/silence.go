package controller

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// silence is what is known of a silent node, from the end of its grace period
// until that is recorded or the node is heard.
type silence struct {
	state silenceState
	task  nodehealth.NodeTask
	// since is when the node was found silent.
	since time.Time
	// confirmedAt is when a live read last showed no heartbeat, zero if none has.
	confirmedAt time.Time
	// retryAt is when the node may be read again, after so many failures.
	retryAt  time.Time
	failures int
	slot     int // in reads.suspects, while suspected
}

// silenceState is where a silence is in its life:
//
//	  grace over         a live read shows no heartbeat
//	─────────────► suspected ─────────────► confirmed ◄──────────┐
//	                │  ▲  ▲ ▲                │     │ Start       │
//	          Start ▼  │  │ └─ too long ago ─┘     ▼             │
//	              reading ┘                    declaring ── Finish, failed
//	                                               │
//	                                               ▼ heard
//	                                           overtaken
//
// A reading that fails leads back to suspected. The first three states end when
// the node is heard or forgotten. The last two end with the write.
// silences.enter is the one function that writes the state.
type silenceState uint8

const (
	// suspected: the node waits for a live read of its lease.
	suspected silenceState = iota
	// reading: its lease is being read, alone.
	reading
	// confirmed: it waits until its conditions are written.
	confirmed
	// declaring: its conditions are being written.
	declaring
	// overtaken: it was heard while its conditions are being written.
	overtaken
)

func (s silenceState) String() string {
	return [...]string{"suspected", "reading", "confirmed", "declaring", "overtaken"}[s]
}

// lasts reports whether a node is silent by all that is known. A node that is
// not has no silence.
func (s *silence) lasts() bool { return s != nil && s.state != overtaken }

// isConfirmed reports whether a live read has confirmed the silence. That it is
// read again changes nothing about that.
func (s *silence) isConfirmed() bool { return !s.confirmedAt.IsZero() }
