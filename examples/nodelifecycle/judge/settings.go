package judge

import (
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Settings is what a judge has to know of the controller's flags and of the
// world. Fields without a default have to be set.
type Settings struct {
	// Grace and StartupGrace are how long a node may be silent.
	Grace, StartupGrace time.Duration
	// BlindAfter is how long after an answer of the API server silence counts.
	// Zero means that all silence counts.
	BlindAfter time.Duration
	// Recovery is how long a node that was silent is heard before its
	// taints are removed.
	Recovery time.Duration
	// BeatInterval is the controller's opinion of how far apart heartbeats are.
	// After the first expiry in a zone it waits so long and a tenth. Zero means no
	// wait.
	BeatInterval time.Duration

	// Rate and SecondaryRate are nodes a second. The latter is for zones of more
	// than LargeZone nodes in which the fraction Unhealthy is not ready.
	Rate, SecondaryRate float64
	Unhealthy           float64
	LargeZone           int
	// ZoneShare raises Rate to a share of the zone's nodes a second.
	ZoneShare float64

	// ZoneDown pauses the cluster while any zone has no ready node. MinHealthy
	// pauses it while a smaller fraction of the nodes is ready. To resume takes
	// ResumeHealthy, or else MinHealthy.
	ZoneDown                  bool
	MinHealthy, ResumeHealthy float64
	// Window is how long nothing is done after a pause, a suspension and the
	// start. Default: Grace.
	Window time.Duration

	// Action is how pods are made to leave, empty for Delete; EvictFor is how long
	// EvictThenDelete evicts.
	Action   Action
	EvictFor time.Duration
	// Overall, PerNode and PerNamespace are evictions a second, zero for no
	// budget, and BudgetBurst how many may come at once.
	Overall, PerNode, PerNamespace float64
	BudgetBurst                    int
	// SpareDaemons says that pods of DaemonSets never leave.
	SpareDaemons bool
	// LowPriorityFirst says that of the pods that are due, those of the lowest
	// priority leave first.
	LowPriorityFirst bool
	// ByNode says that all pods leave a node that is ill for Timeout, instead of
	// those that do not tolerate its taint.
	ByNode  bool
	Timeout time.Duration

	// QPS limits the calls of a client, Concurrent is how many it has under way at a
	// time. Zero means no limit.
	QPS        float64
	Concurrent int

	// EvictionCost is how many calls are set aside for one eviction. Default: 1.
	EvictionCost int

	// Delay is how long news may take to a client's watch, and the calls of an
	// action there and back, while controllers can act.
	Delay time.Duration
	// Skew is by how much the clocks of any two processes of the controller, or
	// one of them and the true time, differ at most.
	Skew time.Duration

	// Bound is how long the controller may take to do what it can do. Default: 5
	// s. Delay and the time in a client's queue come on top.
	Bound time.Duration
	// CalmBound is how long after the beginning of a calm nothing is expected:
	// retries wait up to a minute, lengthened by chance. Default: 70 s.
	CalmBound time.Duration
	// Keep is how many violations are kept. Default: 20.
	Keep int
}

// Action is how pods are made to leave.
type Action string

// Actions, called as their flag's values.
const (
	Delete          Action = "delete"
	Evict           Action = "evict"
	EvictThenDelete Action = "evict-then-delete"
	DryRun          Action = "dry-run"
)

// evicts reports whether the Eviction API is used, and PodDisruptionBudgets
// count.
func (s *Settings) evicts() bool { return s.Action == Evict || s.Action == EvictThenDelete }

const (
	// someNotReady is how many nodes not ready make a zone disrupted at least:
	// "more than two" in kube-controller-manager.
	someNotReady = 3
	// trusted is how long before its sight the time written in an object is
	// believed.
	trusted = 10 * time.Second
	// confirmationLasts is how old what a client has read of a node's heartbeats
	// may be when it declares it.
	confirmationLasts = 10 * time.Second
)

func (s Settings) withDefaults() Settings {
	if s.Action == "" {
		s.Action = Delete
	}
	if s.Bound == 0 {
		s.Bound = 5 * time.Second
	}
	if s.Window == 0 {
		s.Window = s.Grace
	}
	if s.CalmBound == 0 {
		s.CalmBound = 70 * time.Second
	}
	if s.Keep == 0 {
		s.Keep = 20
	}
	return s
}

// bound is how long the controller may take in all.
func (s *Settings) bound() time.Duration { return s.Bound + s.Delay + s.queueing() }

// queueing is how long a call may wait between the decision and its sending:
// for its client's own rate.
func (s *Settings) queueing() time.Duration {
	if s.QPS <= 0 || s.Concurrent <= 0 {
		return 0
	}
	return time.Duration(float64(s.Concurrent) / s.QPS * float64(time.Second))
}

// lag is how long what is stored may take until a process goes by it.
func (s *Settings) lag() time.Duration { return s.Delay + s.queueing() + moment }

// moment is how long a process takes to notice what it was shown.
const moment = 100 * time.Millisecond

// wave is how long after a zone's first expiry its nodes wait.
func (s *Settings) wave() time.Duration { return s.BeatInterval + s.BeatInterval/10 }

// Subject is the judged process: what the world cannot tell about it.
type Subject interface {
	// Calm returns since when a controller can act: it leads, runs, its watches
	// and calls work. False means that none can now.
	Calm() (since time.Duration, ok bool)
	// Acting returns the process that acts, or nil. Of several in a calm any.
	Acting() *network.Client
	// Memory returns what that process has in its memory. It is asked at the end.
	Memory() Memory
}

// Memory is what a process of the controller has in its memory, in numbers.
type Memory struct {
	// Nodes, Pods and Zones that it knows.
	Nodes, Pods, Zones int
	// Pending is how many pods it is going to evict, now or later, Queued how many
	// nodes it is going to taint, in all zones.
	Pending, Queued int
}
