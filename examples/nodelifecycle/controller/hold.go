package controller

// hold says whether our own NoExecute taints act:
//
//	      the last ready node falls            all zones are disrupted
//	holdNone ─────────────────────► holdProvisional ───────────► holdOutage
//	  ▲  ▲                                │  │                       ▲  │
//	  │  └── they are not, once evaluated ┘  └──► holdPaused ────────┘  │
//	  │                                                │                │
//	  └───────── nodes may be acted against again ─────┴────────────────┘
//
// holdNone also goes to holdPaused and holdOutage directly. Controller.setHold
// is the one function that writes it.
type hold uint8

const (
	// holdNone: our taints act.
	holdNone hold = iota
	// holdProvisional: the taints are suspended until it is known whether all
	// zones are disrupted. That depends on unconfirmed nodes, or silence does not
	// count, or no node is ready and the zones were not evaluated since. All
	// workers may be busy with evictions: then nothing asks for the next action,
	// and no evaluation comes in between.
	holdProvisional
	// holdPaused: the policy of the cluster asks for a pause. The taints are
	// suspended and stay.
	holdPaused
	// holdOutage: every zone is disrupted. The taints are suspended and removed.
	holdOutage
)

func (h hold) String() string {
	return [...]string{"none", "provisional", "paused", "outage"}[h]
}
