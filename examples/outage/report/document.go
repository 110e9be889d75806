package report

// Document is what a run came to.
type Document struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Settings are the assignments that the scenario was changed with, as they
	// were given.
	Settings []string `json:"settings"`
	// Notes say what of a cluster that the scenario is made of was left out or
	// changed.
	Notes []string `json:"notes"`
	// Duration is how long the scenario lasts, Reached how much of it was run:
	// all, unless the run was interrupted.
	Duration Seconds `json:"duration"`
	Reached  Seconds `json:"reached"`
	// Timeline is in the order in which its lines begin.
	Timeline []Line  `json:"timeline"`
	Summary  Summary `json:"summary"`
	// Series are for plots.
	Series Series `json:"series"`
	// Checked says that the invariants were checked; Violations are those that did
	// not hold.
	Checked    bool        `json:"checked"`
	Violations []Violation `json:"violations"`
	// Expectations are what the scenario expects and what came out, once the whole
	// scenario was run. ExpectationsSkipped says that they were not compared
	// because the settings change what must come out.
	Expectations        []Expectation `json:"expectations"`
	ExpectationsSkipped bool          `json:"expectationsSkipped,omitempty"`
}

// Line is something that happened, at one time or over some.
type Line struct {
	At Seconds `json:"at"`
	// Until is when it happened last; zero if it happened at one time.
	Until Seconds `json:"until,omitempty"`
	Kind  Kind    `json:"kind"`
	// Zone or Process is where it happened; neither if it happened to the cluster.
	Zone    string `json:"zone,omitempty"`
	Process string `json:"process,omitempty"`
	// Count is how often it happened: to Nodes, some of them perhaps several
	// times, or to pods on Nodes. Nodes are in the order of their numbers.
	Count int      `json:"count,omitempty"`
	Nodes []string `json:"nodes,omitempty"`
	// From and To are states of a zone or phases of the cluster, and Rate is in
	// nodes a second from now on.
	From string   `json:"from,omitempty"`
	To   string   `json:"to,omitempty"`
	Rate *float64 `json:"rate,omitempty"`
	// Text says all that for people.
	Text string `json:"text"`
}

// Kind says what a line tells.
type Kind string

// Kinds of lines. Those from [Silent] to [PodsKept] say how often and to which
// nodes of a zone.
const (
	// FaultBegan and FaultEnded are of the script.
	FaultBegan Kind = "fault began"
	FaultEnded Kind = "fault ended"
	// ProcessStarted and the following are about processes of the controller: one
	// starts, acts from now on, ends, stands still, goes on.
	ProcessStarted Kind = "process started"
	ProcessLeads   Kind = "process leads"
	ProcessStopped Kind = "process stopped"
	ProcessPaused  Kind = "process paused"
	ProcessResumed Kind = "process resumed"
	// PhaseChanged and ZoneChanged are as the process that acts sees it:
	// zone.Phase, and zone.State and rate of a zone.
	PhaseChanged Kind = "phase changed"
	ZoneChanged  Kind = "zone changed"
	// Silent nodes do not reach the API server: the truth, which the controller
	// has to find out. Heard are those that reach it again before they have been
	// declared. To the second.
	Silent Kind = "silent"
	Heard  Kind = "heard"
	// ReportedNotReady: a kubelet says so. Declared: the controller has made the
	// node's Ready condition Unknown.
	ReportedNotReady Kind = "reported not ready"
	Declared         Kind = "declared"
	// Tainted and Untainted are about the NoExecute taints not-ready and
	// unreachable.
	Tainted   Kind = "tainted"
	Untainted Kind = "untainted"
	// Recovered: the node's Ready condition is True again.
	Recovered Kind = "recovered"
	// Deleted and Registered are about node objects, Moved about their zone label;
	// the line is of the zone that they come to.
	Deleted    Kind = "deleted"
	Registered Kind = "registered"
	Moved      Kind = "moved"
	// PodsEvicted: the controller has told pods to leave. Count is of pods.
	PodsEvicted Kind = "pods evicted"
	// PodsKept: a PodDisruptionBudget refused to let pods go that had to leave.
	// Count is of pods; refusals of further attempts are left out.
	PodsKept Kind = "pods kept"
	// RolledOut: the pods of a DaemonSet's newest template are ready on all of its
	// nodes. Without daemonSets: controller it is never told.
	RolledOut Kind = "rolled out"
)

// Summary is what a run came to.
type Summary struct {
	// Zones are those of the scenario, then those that came into being.
	Zones []Zone `json:"zones"`
	// Cluster is all zones together: sums of what was counted, and what came
	// first, last or was worst. It has no name and no Peak, because rates are a
	// zone's.
	Cluster Zone `json:"cluster"`
	// Workloads are those of the scenario, Departures the pods that were told to
	// leave nodes that a step had hit, by step and workload.
	Workloads  []Workload  `json:"workloads"`
	Departures []Departure `json:"departures"`
	// Suspended says that the controller found every zone down, at least once.
	Suspended bool `json:"suspended"`
	// Paused says that a policy paused the cluster, at least once.
	Paused bool `json:"paused"`
}

// Workload says how many of its pods the controller told to leave.
type Workload struct {
	Name    string `json:"workload"`
	Evicted int    `json:"evicted"`
}

// Departure says how many pods of a workload the controller told to leave nodes
// that a step of the script had hit by then. It also says when the first and
// the last of them were told, counted from when the step began.
type Departure struct {
	// Step is its number in the script, from 0.
	Step     int     `json:"step"`
	Workload string  `json:"workload"`
	Pods     int     `json:"pods"`
	Earliest Seconds `json:"earliest"`
	Latest   Seconds `json:"latest"`
}

// Zone is what a run came to in a zone.
type Zone struct {
	Name string `json:"zone,omitempty"`
	// Nodes is how many it had, at most at a time.
	Nodes int `json:"nodes"`
	// Declared and Tainted are the nodes that the controller has declared Unknown,
	// and those to which it gave a NoExecute taint.
	Declared Hits `json:"declared"`
	// DeclaredLiving are those whose kubelet had been up within a grace period
	// before the Unknown was stored, whether the API server answered it or not.
	// DeclaredDead are the others.
	DeclaredLiving Hits `json:"declaredLiving"`
	DeclaredDead   Hits `json:"declaredDead"`
	Tainted        Hits `json:"tainted"`
	Pods           Pods `json:"pods"`
	// Drain says how long evictions took, Late how late they were, and Peak how
	// close they came to the rate; nil if there was none.
	Drain *Drain `json:"drain,omitempty"`
	Late  *Late  `json:"late,omitempty"`
	Peak  *Peak  `json:"peak,omitempty"`
	// Calls are those of all processes about a node, its lease or its pods, by
	// name. For the cluster they are also those about nothing in a zone.
	Calls []Calls `json:"calls"`
}

// Hits is how many nodes something happened to, and how many times.
type Hits struct {
	Nodes int `json:"nodes"`
	Times int `json:"times"`
}

// Pods says what became of pods on nodes in trouble. Those that tolerate it for
// ever count nowhere.
type Pods struct {
	// Evicted were told to leave by the controller.
	Evicted int `json:"evicted"`
	// Spared were on a node that was declared, not ready or tainted, and stayed.
	// Their node came back in time, or the cluster was suspended at the end.
	Spared int `json:"spared"`
	// Waiting were, at the end, on such a node and about to leave. Kept are those
	// of them whose eviction a PodDisruptionBudget refused.
	Waiting int `json:"waiting"`
	Kept    int `json:"kept"`
}

// Drain says how long after the beginning of an outage of its zone the first
// pod was told to leave, and the last. Of several outages, it is the shortest
// and the longest time.
type Drain struct {
	First Seconds `json:"first"`
	Last  Seconds `json:"last"`
}

// Late says how long after their deadlines pods were told to leave. The
// deadline is counted from when the API server stored the taint or the pod
// arrived. Up to a second and a half is by design: a taint's time is in whole
// seconds, and rounded up.
type Late struct {
	// Of is how many evictions it is about. It leaves out pods whose deadline
	// cannot be known: a taint says that it is older than it is, or went
	// meanwhile.
	Of     int     `json:"of"`
	Median Seconds `json:"median"`
	Worst  Seconds `json:"worst"`
}

// Peak is the minute in which a zone came closest to its rate. It is the one
// with the most taints or, if one exceeded what was allowed, that which did so
// most.
type Peak struct {
	// End is when the minute ended.
	End Seconds `json:"end"`
	// Tainted is how many nodes got a NoExecute taint in it.
	Tainted int `json:"tainted"`
	// Limit is how many were allowed: what the rate gave in that minute, and one
	// that may have been saved up before. None are if the rate was zero all the
	// minute.
	Limit float64 `json:"limit"`
}

// Calls is how many calls of one kind were sent, and how many of those failed
// for their caller.
type Calls struct {
	// Kind is verb, resource and subresource: "patch nodes/status".
	Kind   string `json:"kind"`
	Sent   int    `json:"sent"`
	Failed int    `json:"failed"`
}

// Violation is an invariant that did not hold.
type Violation struct {
	At        Seconds `json:"at"`
	Invariant string  `json:"invariant"`
	Text      string  `json:"text"`
}
