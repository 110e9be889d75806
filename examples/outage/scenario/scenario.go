package scenario

import "time"

// A Scenario is a cluster, a controller's settings and a script of what goes
// wrong. Run again with the same seed it goes the same way, to the nanosecond.
type Scenario struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Duration is how much time of the cluster passes.
	Duration Duration `json:"duration"`
	// Seed decides everything that the scenario leaves open: which nodes a fault
	// hits, when each heartbeat falls, how long each call takes. Zero is a seed.
	Seed       uint64     `json:"seed,omitempty"`
	Cluster    Cluster    `json:"cluster"`
	Controller Controller `json:"controller,omitzero"`
	Script     []Step     `json:"script,omitempty"`
	// Expect is what must come out of it, for every seed.
	Expect *Expect `json:"expect,omitempty"`
}

// Cluster is what is there before the script begins.
type Cluster struct {
	Zones []Zone `json:"zones"`
	// Workloads own the pods. They are spread over the nodes before time begins.
	Workloads []Workload `json:"workloads,omitempty"`
	// BeatInterval is how often a kubelet renews its lease: the default is the
	// kubelet's, 10 s.
	BeatInterval Duration `json:"beatInterval,omitempty"`
	// StatusInterval is how often a kubelet reports a status that has not changed:
	// the default is the kubelet's, 5 min.
	StatusInterval Duration `json:"statusInterval,omitempty"`
	// APILatency is how long a call takes, there and back. The default is 2 ms to
	// 20 ms.
	APILatency Range `json:"apiLatency,omitzero"`
	// WatchDelay is how long an event takes to a watch. The default is 1 ms to 50
	// ms.
	WatchDelay Range `json:"watchDelay,omitzero"`
}

// Zone is nodes with one topology zone label. They are named zone-0 and so on.
type Zone struct {
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`
	// Racks is how many racks the nodes are spread over, in turn: rack 0 and so
	// on. The default is 1.
	Racks int `json:"racks,omitempty"`
	// Groups divide the nodes, in their order, if they are not all alike. The
	// racks are then those that the groups name, numbered in that order.
	Groups []Group `json:"groups,omitempty"`
}

// Kinds of workloads.
const (
	// Deployment: a pod that is told to leave is replaced at once, by one of
	// another name.
	Deployment = "Deployment"
	// StatefulSet: a pod is replaced once it is gone, by one of the same name.
	StatefulSet = "StatefulSet"
	// DaemonSet: one pod a node, which tolerates that its node is ill for ever.
	DaemonSet = "DaemonSet"
	// Bare: pods without an owner, which nothing replaces.
	Bare = "Bare"
)

// Workload owns pods and replaces those that go.
type Workload struct {
	Name string `json:"name"`
	// Kind is Deployment, the default, StatefulSet, DaemonSet or Bare.
	Kind string `json:"kind,omitempty"`
	// Replicas is how many pods there are; a DaemonSet has as many as there are
	// nodes.
	Replicas int `json:"replicas,omitempty"`
	// TolerationSeconds is how long the pods tolerate that their node is not ready
	// or unreachable. The default is what the API server gives every pod, 300.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
	// EveryTaint makes TolerationSeconds be for every NoExecute taint, not only
	// for the two that say that a node is ill.
	EveryTaint bool `json:"everyTaint,omitempty"`
	// TolerateForever makes pods tolerate every NoExecute taint, for ever.
	TolerateForever bool `json:"tolerateForever,omitempty"`
	// Tolerations are those of the pod template. As the API server's admission
	// does, TolerationSeconds is left out for what they tolerate.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// Placed says how many of the pods are on the nodes of each group when time
	// begins. In a group they are spread evenly. By default they are spread over
	// all nodes. A DaemonSet keeps to the nodes where it begins.
	Placed map[string]int `json:"placed,omitempty"`
	// Pools are those on whose nodes a pod may be scheduled; by default all nodes.
	Pools []string `json:"pools,omitempty"`
	// MinAvailable is that of the workload's PodDisruptionBudget: how many pods
	// have to be left when one is evicted by --action=evict. By default it has
	// none.
	MinAvailable int `json:"minAvailable,omitempty"`
	// Priority is that of the pods, which counts with --low-priority-first.
	Priority int `json:"priority,omitempty"`
}

// Controller is the processes of the controller and their flags.
type Controller struct {
	// Replicas is how many processes there are; one of them leads. The default is
	// 1.
	Replicas int `json:"replicas,omitempty"`
	// RestartAfter is how long a process that has ended stays away. The default is
	// 5 s.
	RestartAfter Duration `json:"restartAfter,omitempty"`
	// Flags are those of nodelifecycle, without the dashes.
	Flags map[string]FlagValue `json:"flags,omitempty"`
}

// Step is one thing that happens: when, for how long, and exactly one of what.
type Step struct {
	At Duration `json:"at"`
	// For is how long it lasts. Without it, it lasts for good.
	For Duration `json:"for,omitempty"`
	// Over spreads the beginning over the nodes: the first is hit at At, the last
	// so much later.
	Over Duration `json:"over,omitempty"`
	// RecoverOver spreads the end over the nodes likewise.
	RecoverOver Duration `json:"recoverOver,omitempty"`

	// To nodes.

	// Silence cuts nodes off: nothing reaches the API server from them, nor the
	// other way. They run on and know nothing of it.
	Silence *Nodes `json:"silence,omitempty"`
	// NotReady makes kubelets report that their node is not ready.
	NotReady *Nodes `json:"notReady,omitempty"`
	// Flap makes nodes fall silent and come back, again and again.
	Flap *Flap `json:"flap,omitempty"`
	// FlapReady makes kubelets report that their node is not ready, and that it
	// is, again and again.
	FlapReady *FlapReady `json:"flapReady,omitempty"`
	// Pressure makes kubelets report memory pressure.
	Pressure *Nodes `json:"pressure,omitempty"`
	// Delete deletes node objects. At the end they register again, as new ones.
	Delete *Nodes `json:"delete,omitempty"`
	// Move gives nodes another zone label, and at the end the former one again.
	Move *Move `json:"move,omitempty"`
	// Cordon makes nodes unschedulable.
	Cordon *Nodes `json:"cordon,omitempty"`
	// Taint adds an administrator's taint.
	Taint *Taint `json:"taint,omitempty"`
	// Touch makes a user change an annotation of nodes. It has no end.
	Touch *Nodes `json:"touch,omitempty"`
	// NodeClocks steps the clocks of nodes, and at the end back.
	NodeClocks *NodeClocks `json:"nodeClocks,omitempty"`
	// ClockDrift makes the clocks of nodes wrong by more and more, and right at
	// the end.
	ClockDrift *ClockDrift `json:"clockDrift,omitempty"`
	// Hostile makes kubelets write what they should not into their own nodes and
	// leases.
	Hostile *Hostile `json:"hostile,omitempty"`

	// To pods.

	// DeletePods makes a user delete pods. It has no end.
	DeletePods *Pods `json:"deletePods,omitempty"`
	// Tolerate changes how long pods tolerate that their node is ill. It has no
	// end.
	Tolerate *Tolerate `json:"tolerate,omitempty"`

	// To the API server.

	// APIDown makes the API server refuse connections.
	APIDown *APIDown `json:"apiDown,omitempty"`
	// APIBlink makes it refuse connections and answer again, in turns.
	APIBlink *APIBlink `json:"apiBlink,omitempty"`
	// APIErrors makes it answer some calls of the controllers with errors.
	APIErrors *APIErrors `json:"apiErrors,omitempty"`
	// APILatency makes calls of the controllers take another time.
	APILatency *Range `json:"apiLatency,omitempty"`
	// LostAnswers makes it do what controllers ask for and lose some of the
	// answers: the caller sees a timeout.
	LostAnswers *LostAnswers `json:"lostAnswers,omitempty"`

	// SlowLists makes lists take another time, without the timeout that other
	// calls have. At 0s it holds for the first lists of all.
	SlowLists *Range `json:"slowLists,omitempty"`

	// To what the controllers see.

	// StaleWatch makes events arrive later, and out of order between objects.
	StaleWatch *StaleWatch `json:"staleWatch,omitempty"`
	// BrokenWatch drops events. At the end everything is listed again.
	BrokenWatch *Watch `json:"brokenWatch,omitempty"`

	// To the controllers.

	// Crash kills a process. It comes back after For, or else after RestartAfter.
	Crash *Process `json:"crash,omitempty"`
	// Pause stops a process as if its machine had frozen.
	Pause *Process `json:"pause,omitempty"`
	// Suspend stops a process whose machine is suspended. The time of day goes on
	// meanwhile, and what measures durations in the process does not.
	Suspend *Process `json:"suspend,omitempty"`
	// ControllerClock steps the clock of a process, and at the end back.
	ControllerClock *ControllerClock `json:"controllerClock,omitempty"`
	// SplitBrain makes every process act as if it led.
	SplitBrain *SplitBrain `json:"splitBrain,omitempty"`
	// Halt puts the annotation on the leader's Lease that holds all evictions and
	// NoExecute taints, as an operator does. It is removed at the end.
	Halt *Halt `json:"halt,omitempty"`
}

// Nodes says which nodes. What is left out does not restrict; something has to
// be said, All if it is all of them.
type Nodes struct {
	All   bool     `json:"all,omitempty"`
	Names []string `json:"names,omitempty"`
	// Zone is the one that a node began in, also after a step has moved it.
	Zone string `json:"zone,omitempty"`
	Rack *int   `json:"rack,omitempty"`
	Pool string `json:"pool,omitempty"`
	// Count or Share takes so many, or such a part from 0 to 1, of the nodes that
	// the rest describes, at random.
	Count int     `json:"count,omitempty"`
	Share float64 `json:"share,omitempty"`
}

// Flap is nodes that come and go. Each begins at a time of its own in the first
// Down plus Up.
type Flap struct {
	Nodes Nodes    `json:"nodes"`
	Down  Duration `json:"down"`
	Up    Duration `json:"up"`
}

// FlapReady is nodes whose kubelets report not ready and ready in turns. Each
// begins at a time of its own in the first NotReady plus Ready.
type FlapReady struct {
	Nodes    Nodes    `json:"nodes"`
	NotReady Duration `json:"notReady"`
	Ready    Duration `json:"ready"`
}

// Move is nodes and the zone that they come to.
type Move struct {
	Nodes Nodes  `json:"nodes"`
	Zone  string `json:"zone"`
}

// Taint is nodes and a taint for them.
type Taint struct {
	Nodes  Nodes  `json:"nodes"`
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
	// TimeAdded is how the taint says when it was added: "now", the default,
	// "missing", or a duration by which it is off. "-1h" is an hour ago.
	TimeAdded string `json:"timeAdded,omitempty"`
}

// NodeClocks is nodes and by how much their clocks step.
type NodeClocks struct {
	Nodes Nodes    `json:"nodes"`
	By    Duration `json:"by"`
}

// ClockDrift is nodes whose clocks step by so much each time.
type ClockDrift struct {
	Nodes Nodes    `json:"nodes"`
	By    Duration `json:"by"`
	Every Duration `json:"every"`
}

// What hostile kubelets do with the not-ready and unreachable NoExecute taints
// of their nodes.
const (
	// TakeOffTaints: they take off those that they find.
	TakeOffTaints = "takeOff"
	// PutOnTaints: they put not-ready on, with the time of now.
	PutOnTaints = "putOn"
)

// What hostile kubelets write as the renewTime of their leases. Each value
// differs from the one before, so that each is a heartbeat.
const (
	FutureLeases    = "future"    // a day ahead
	ZeroLeases      = "zero"      // every other time no time at all
	BackwardsLeases = "backwards" // earlier each time
)

// Hostile is nodes and what their kubelets do, while they reach the API server:
// at least one of Zones, Taints and Leases.
type Hostile struct {
	Nodes Nodes `json:"nodes"`
	// Every is how often they write labels and taints.
	Every Duration `json:"every"`
	// Zones are zone labels that they give themselves in turn. At the end they
	// have their own again.
	Zones []string `json:"zones,omitempty"`
	// Taints is takeOff or putOn.
	Taints string `json:"taints,omitempty"`
	// Leases is future, zero or backwards.
	Leases string `json:"leases,omitempty"`
}

// Pods says which pods: Count or Share of a workload's, at random, or all of
// them.
type Pods struct {
	Workload string  `json:"workload"`
	Count    int     `json:"count,omitempty"`
	Share    float64 `json:"share,omitempty"`
}

// Tolerate is pods and how long they tolerate from then on.
type Tolerate struct {
	Pods    Pods  `json:"pods"`
	Seconds int64 `json:"seconds"`
}

// Callers of the API server.
const (
	AllCallers  = "all"
	Controllers = "controllers"
	Kubelets    = "kubelets"
)

// APIDown says for which callers the API server is away: all, the default,
// controllers or kubelets.
type APIDown struct {
	For string `json:"for,omitempty"`
}

// APIBlink says for which callers the API server is away, as in [APIDown], and
// for how long in turn. For example, 5s of every minute is down: 5s, up: 55s.
type APIBlink struct {
	For  string   `json:"for,omitempty"`
	Down Duration `json:"down"`
	Up   Duration `json:"up"`
}

// APIErrors says how many calls fail, and how.
type APIErrors struct {
	// Share of the calls, from 0 to 1.
	Share float64 `json:"share"`
	// Codes are HTTP status codes, of which each failing call gets one; the
	// default is all of 409, 429, 500 and 503. A 404 is that of a proxy which has
	// lost its server: the object is there, and the body of the answer is no
	// Status.
	Codes []int `json:"codes,omitempty"`
	// Verbs are the calls that can fail, of get, patch, delete, evict and update,
	// which is what a leader does to its lease. The default is all of them. For
	// example, a webhook refuses every delete.
	Verbs []string `json:"verbs,omitempty"`
}

// LostAnswers says how many answers are lost.
type LostAnswers struct {
	Share float64 `json:"share"` // from 0 to 1
}

// Kinds of objects that controllers watch.
const (
	NodeObjects  = "nodes"
	LeaseObjects = "leases"
	PodObjects   = "pods"
)

// Watch says which watches: of which kinds, all by default, and of which
// process, all by default.
type Watch struct {
	Kinds   []string `json:"kinds,omitempty"`
	Replica *int     `json:"replica,omitempty"`
}

// StaleWatch is watches and how late they are.
type StaleWatch struct {
	Watch `json:",inline"`
	Delay Range `json:"delay"`
}

// Process is one of the controller's processes, by number; the leader by
// default.
type Process struct {
	Replica *int `json:"replica,omitempty"`
}

// ControllerClock is a process and by how much its clock steps.
type ControllerClock struct {
	Process `json:",inline"`
	By      Duration `json:"by"`
}

// SplitBrain has nothing to say.
type SplitBrain struct{}

// Halt has nothing to say.
type Halt struct{}

// Range is a shortest and a longest time.
type Range struct {
	Min Duration `json:"min"`
	Max Duration `json:"max"`
}

// Duration is a time.Duration, written as in Go: 1h30m.
type Duration time.Duration
