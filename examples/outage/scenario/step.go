package scenario

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Step is one thing that happens: when, for how long, and exactly one of what.
type Step struct {
	At Duration `json:"at" is:"time"`
	// For is how long it lasts. Without it, it lasts for good.
	For Duration `json:"for,omitempty" is:"time" zero:"for good"`
	// Over spreads the beginning over the nodes: the first is hit at At, the last
	// so much later.
	Over Duration `json:"over,omitempty" is:"time"`
	// RecoverOver spreads the end over the nodes likewise.
	RecoverOver Duration `json:"recoverOver,omitempty" is:"time"`

	// To nodes.

	// Silence cuts nodes off: nothing reaches the API server from them, nor the
	// other way. They run on and know nothing of it.
	Silence *Nodes `json:"silence,omitempty" fault:"hits nodes"`
	// NotReady makes kubelets report that their node is not ready.
	NotReady *Nodes `json:"notReady,omitempty" fault:"hits nodes"`
	// Flap makes nodes fall silent and come back, again and again.
	Flap *Flap `json:"flap,omitempty" fault:"hits nodes, repeats, flaps"`
	// FlapReady makes kubelets report that their node is not ready, and that it
	// is, again and again.
	FlapReady *FlapReady `json:"flapReady,omitempty" fault:"hits nodes, repeats, flaps"`
	// Pressure makes kubelets report memory pressure.
	Pressure *Nodes `json:"pressure,omitempty" fault:"hits nodes"`
	// Delete deletes node objects. At the end they register again, as new ones.
	Delete *Nodes `json:"delete,omitempty" fault:"hits nodes"`
	// Move gives nodes another zone label, and at the end the former one again.
	Move *Move `json:"move,omitempty" fault:"hits nodes"`
	// Cordon makes nodes unschedulable.
	Cordon *Nodes `json:"cordon,omitempty" fault:"hits nodes"`
	// Taint adds an administrator's taint.
	Taint *Taint `json:"taint,omitempty" fault:"hits nodes"`
	// Touch makes a user change an annotation of nodes. It has no end.
	Touch *Nodes `json:"touch,omitempty" fault:"hits nodes, endless"`
	// NodeClocks steps the clocks of nodes, and at the end back.
	NodeClocks *NodeClocks `json:"nodeClocks,omitempty" fault:"hits nodes"`
	// ClockDrift makes the clocks of nodes wrong by more and more, and right at
	// the end.
	ClockDrift *ClockDrift `json:"clockDrift,omitempty" fault:"hits nodes, repeats"`
	// Hostile makes kubelets write what they should not into their own nodes and
	// leases.
	Hostile *Hostile `json:"hostile,omitempty" fault:"hits nodes, repeats"`

	// To pods.

	// DeletePods makes a user delete pods. It has no end.
	DeletePods *Pods `json:"deletePods,omitempty" fault:"endless"`
	// Tolerate changes how long pods tolerate that their node is ill. It has no
	// end.
	Tolerate *Tolerate `json:"tolerate,omitempty" fault:"endless"`
	// RollOut gives the pods of a DaemonSet another image. It has no end, and needs
	// daemonSets: controller.
	RollOut *RollOut `json:"rollOut,omitempty" fault:"endless"`

	// To the API server.

	// APIDown makes the API server refuse connections.
	APIDown *APIDown `json:"apiDown,omitempty" fault:"once"`
	// APIBlink makes it refuse connections and answer again, in turns.
	APIBlink *APIBlink `json:"apiBlink,omitempty" fault:"repeats"`
	// ReadOnlyStore makes it refuse what controllers and kubelets write, and
	// answer what they read, as with an etcd that is out of space or has no leader.
	ReadOnlyStore *ReadOnlyStore `json:"readOnlyStore,omitempty" fault:"once"`
	// APIErrors makes it answer some calls of the controllers with errors.
	APIErrors *APIErrors `json:"apiErrors,omitempty" fault:"once"`
	// APILatency makes calls of the controllers take another time.
	APILatency *Range `json:"apiLatency,omitempty" fault:"once"`
	// LostAnswers makes it do what controllers ask for and lose some of the
	// answers: the caller sees a timeout.
	LostAnswers *LostAnswers `json:"lostAnswers,omitempty" fault:"once"`

	// SlowLists makes lists take another time, without the timeout that other
	// calls have. At 0s it holds for the first lists of all.
	SlowLists *Range `json:"slowLists,omitempty" fault:"once"`

	// To what the controllers see.

	// StaleWatch makes events arrive later, and out of order between objects.
	StaleWatch *StaleWatch `json:"staleWatch,omitempty" fault:"once"`
	// BrokenWatch drops events. At the end everything is listed again.
	BrokenWatch *Watch `json:"brokenWatch,omitempty" fault:"once"`

	// To the controllers.

	// Crash kills a process. It comes back after For, or else after RestartAfter.
	Crash *Process `json:"crash,omitempty" fault:"once"`
	// Pause stops a process as if its machine had frozen.
	Pause *Process `json:"pause,omitempty" fault:"once"`
	// Suspend stops a process whose machine is suspended. The time of day goes on
	// meanwhile, and what measures durations in the process does not.
	Suspend *Process `json:"suspend,omitempty" fault:"once"`
	// ControllerClock steps the clock of a process, and at the end back.
	ControllerClock *ControllerClock `json:"controllerClock,omitempty" fault:"once"`
	// SplitBrain makes every process act as if it led.
	SplitBrain *SplitBrain `json:"splitBrain,omitempty" fault:"once"`
	// Halt puts the annotation on the leader's Lease that holds all evictions and
	// NoExecute taints, as an operator does. It is removed at the end.
	Halt *Halt `json:"halt,omitempty" fault:"once"`
}

// fault is one of a step: its name, what the tag of its field says of it, and
// the pointer to it.
type fault struct {
	name, kind string
	value      reflect.Value
}

func (f *fault) is(kind string) bool { return strings.Contains(f.kind, kind) }

// faults returns those that the step has, in the order of the type, and the
// names of all that there are.
func (s *Step) faults() (faults []fault, all []string) {
	for _, f := range fields(reflect.TypeFor[Step]()) {
		if kind := f.tag("fault"); kind != "" {
			all = append(all, f.name)
			if value := reflect.ValueOf(s).Elem().FieldByIndex(f.Index); !value.IsNil() {
				faults = append(faults, fault{f.name, kind, value})
			}
		}
	}
	return faults, all
}

// String says in a few words what the step does: silence zone: a, for 10m. It
// is for people.
func (s *Step) String() string {
	text := "nothing"
	faults, _ := s.faults()
	for _, f := range faults {
		encoded, err := json.Marshal(f.value.Interface())
		if err != nil {
			encoded = []byte(err.Error())
		}
		plain := strings.NewReplacer(`"`, "", "{", "", "}", "", ":", ": ", ",", ", ").Replace(string(encoded))
		text = strings.TrimSpace(f.name + " " + plain)
	}
	if s.For > 0 {
		text += ", for " + s.For.String()
	}
	return text
}

// Nodes says which nodes. What is left out does not restrict; something has to
// be said, All if it is all of them.
type Nodes struct {
	All   bool     `json:"all,omitempty"`
	Names []string `json:"names,omitempty" zero:"nodes of any name"`
	// Zone is the one that a node began in, also after a step has moved it.
	Zone string `json:"zone,omitempty" names:"zone"`
	Rack *int   `json:"rack,omitempty" min:"0" want:"racks are counted from 0"`
	Pool string `json:"pool,omitempty" names:"pool"`
	// Count or Share takes so many, or such a part from 0 to 1, of the nodes that
	// the rest describes, at random.
	Count int     `json:"count,omitempty" min:"1" zero:"all that are described"`
	Share float64 `json:"share,omitempty" is:"share" zero:"all that are described"`
}

// Flap is nodes that come and go. Each begins at a time of its own in the first
// Down plus Up.
type Flap struct {
	Nodes Nodes    `json:"nodes"`
	Down  Duration `json:"down" is:"interval"`
	Up    Duration `json:"up" is:"interval"`
}

// FlapReady is nodes whose kubelets report not ready and ready in turns. Each
// begins at a time of its own in the first NotReady plus Ready.
type FlapReady struct {
	Nodes    Nodes    `json:"nodes"`
	NotReady Duration `json:"notReady" is:"interval"`
	Ready    Duration `json:"ready" is:"interval"`
}

// Move is nodes and the zone that they come to.
type Move struct {
	Nodes Nodes  `json:"nodes"`
	Zone  string `json:"zone" is:"label"`
}

// Taint is nodes and a taint for them.
type Taint struct {
	Nodes  Nodes  `json:"nodes"`
	Key    string `json:"key" is:"taintKey"`
	Value  string `json:"value,omitempty" is:"value of a taint"`
	Effect string `json:"effect" is:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
	// TimeAdded is how the taint says when it was added: "now", the default,
	// "missing", or a duration by which it is off. "-1h" is an hour ago.
	TimeAdded string `json:"timeAdded,omitempty" is:"timeAdded" default:"now"`
}

// NodeClocks is nodes and by how much their clocks step.
type NodeClocks struct {
	Nodes Nodes    `json:"nodes"`
	By    Duration `json:"by" is:"clock"`
}

// ClockDrift is nodes whose clocks step by so much each time.
type ClockDrift struct {
	Nodes Nodes    `json:"nodes"`
	By    Duration `json:"by" is:"clock"`
	Every Duration `json:"every" is:"interval"`
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
	Every Duration `json:"every" is:"interval"`
	// Zones are zone labels that they give themselves in turn. At the end they
	// have their own again.
	Zones []string `json:"zones,omitempty" is:"label"`
	// Taints is takeOff or putOn.
	Taints string `json:"taints,omitempty" oneOf:"way: takeOff, putOn"`
	// Leases is future, zero or backwards.
	Leases string `json:"leases,omitempty" oneOf:"way: future, zero, backwards"`
}

// Pods says which pods: Count or Share of a workload's, at random, or all of
// them.
type Pods struct {
	Workload string  `json:"workload" names:"workload"`
	Count    int     `json:"count,omitempty" min:"1" zero:"all pods of the workload"`
	Share    float64 `json:"share,omitempty" is:"share" zero:"all pods of the workload"`
}

// Tolerate is pods and how long they tolerate from then on.
type Tolerate struct {
	Pods    Pods  `json:"pods"`
	Seconds int64 `json:"seconds" min:"0" want:"0 is at once"`
}

// RollOut is the DaemonSet whose template changes.
type RollOut struct {
	Workload string `json:"workload" names:"workload"`
	// MaxUnavailable is on how many nodes no pod may be ready because of it: the
	// default is 1, that of the API.
	MaxUnavailable int `json:"maxUnavailable,omitempty" min:"1" default:"1"`
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
	For string `json:"for,omitempty" is:"caller" default:"all"`
}

// APIBlink says for which callers the API server is away, as in [APIDown], and
// for how long in turn. For example, 5s of every minute is down: 5s, up: 55s.
type APIBlink struct {
	For  string   `json:"for,omitempty" is:"caller" default:"all"`
	Down Duration `json:"down" is:"interval"`
	Up   Duration `json:"up" is:"interval"`
}

// APIErrors says how many calls fail, and how.
type APIErrors struct {
	// Share of the calls, from 0 to 1.
	Share float64 `json:"share" is:"share"`
	// Codes are HTTP status codes, of which each failing call gets one; the
	// default is all of 409, 429, 500 and 503. A 404 is that of a proxy which has
	// lost its server: the object is there, and the body of the answer is no
	// Status.
	Codes []int `json:"codes,omitempty" is:"code" default:"[409, 429, 500, 503]" zero:"409, 429, 500 and 503"`
	// Verbs are the calls that can fail, of get, patch, delete, evict and update,
	// which is what a leader does to its lease. The default is all of them. For
	// example, a webhook refuses every delete.
	Verbs []string `json:"verbs,omitempty" is:"verb" default:"[get, patch, delete, evict, update]"`
	// Kubelets says that the same share of what kubelets write fails. A kubelet
	// tries five times to renew its lease before it waits for the next time.
	Kubelets bool `json:"kubelets,omitempty"`
}

// ReadOnlyStore has nothing to say.
type ReadOnlyStore struct{}

// LostAnswers says how many answers are lost.
type LostAnswers struct {
	Share float64 `json:"share" is:"share"` // from 0 to 1
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
	Kinds   []string `json:"kinds,omitempty" is:"object" default:"[nodes, leases, pods]" zero:"all kinds"`
	Replica *int     `json:"replica,omitempty" is:"replica"`
}

// StaleWatch is watches and how late they are.
type StaleWatch struct {
	Watch `json:",inline"`
	Delay Range `json:"delay"`
}

// Process is one of the controller's processes, by number; the leader by
// default.
type Process struct {
	Replica *int `json:"replica,omitempty" is:"replica"`
}

// ControllerClock is a process and by how much its clock steps.
type ControllerClock struct {
	Process `json:",inline"`
	By      Duration `json:"by" is:"clock"`
}

// SplitBrain has nothing to say.
type SplitBrain struct{}

// Halt has nothing to say.
type Halt struct{}

// Range is a shortest and a longest time.
type Range struct {
	Min Duration `json:"min" is:"time"`
	Max Duration `json:"max" is:"time"`
}

// What a taint may say of when it was added, besides a duration.
const (
	TimeAddedNow     = "now"
	TimeAddedMissing = "missing"
)
