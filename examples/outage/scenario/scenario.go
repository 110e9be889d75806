package scenario

// A Scenario is a cluster, a controller's settings and a script of what goes
// wrong. Run again with the same seed it goes the same way, to the nanosecond.
type Scenario struct {
	Name        string `json:"name" is:"name"`
	Description string `json:"description,omitempty" is:"text"`
	// Duration is how much time of the cluster passes.
	Duration Duration `json:"duration" min:"1ns" max:"720h" want:"say how much time passes, as in 30m"`
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
	BeatInterval Duration `json:"beatInterval,omitempty" is:"interval" default:"10s"`
	// StatusInterval is how often a kubelet reports a status that has not changed:
	// the default is the kubelet's, 5 min.
	StatusInterval Duration `json:"statusInterval,omitempty" is:"interval" default:"5m"`
	// APILatency is how long a call takes, there and back. The default is 2 ms to
	// 20 ms.
	APILatency Range `json:"apiLatency,omitzero" default:"{min: 2ms, max: 20ms}" zero:"2ms to 20ms"`
	// WatchDelay is how long an event takes to a watch. The default is 1 ms to 50
	// ms.
	WatchDelay Range `json:"watchDelay,omitzero" default:"{min: 1ms, max: 50ms}" zero:"1ms to 50ms"`
	// Kubelets runs the kubelet of examples/hollownode on each node. By default a
	// node is a few rules instead, which cost much less.
	Kubelets bool `json:"kubelets,omitempty"`
	// DaemonSets says who replaces the pods of DaemonSets: owner, the default, or
	// controller, which is examples/daemonset with its defaults, as a process of its
	// own. What befalls the API server and watches befalls it too.
	DaemonSets string `json:"daemonSets,omitempty" oneOf:"way: owner, controller" default:"owner"`
}

// Who replaces the pods of DaemonSets.
const (
	// ByOwner: a rule makes another pod where one is gone.
	ByOwner = "owner"
	// ByController: the controller of examples/daemonset makes them.
	ByController = "controller"
)

// Zone is nodes with one topology zone label. They are named zone-0 and so on.
type Zone struct {
	Name  string `json:"name" is:"key" defines:"zone"`
	Nodes int    `json:"nodes" min:"1" want:"a zone has at least one node"`
	// Racks is how many racks the nodes are spread over, in turn: rack 0 and so
	// on. The default is 1.
	Racks int `json:"racks,omitempty" min:"1" zero:"1"`
	// Groups divide the nodes, in their order, if they are not all alike. The
	// racks are then those that the groups name, numbered in that order.
	Groups []Group `json:"groups,omitempty"`
}

// Group is nodes of a zone that are alike: those of one pool in one rack, with
// the same taints.
type Group struct {
	// Name is unique in the cluster. Workloads say with it where their pods are.
	Name  string `json:"name" is:"key" defines:"group"`
	Nodes int    `json:"nodes" min:"1" want:"a group has at least one node"`
	// Pool may reach over several zones. A rack belongs to one zone. Groups that
	// name none of either are in none together.
	Pool string `json:"pool,omitempty" is:"value of a label" defines:"pool"`
	Rack string `json:"rack,omitempty" is:"value of a label"`
	// Cordoned makes the nodes unschedulable from the beginning.
	Cordoned bool `json:"cordoned,omitempty"`
	// Taints are those of an administrator, which the nodes have from the
	// beginning.
	Taints []NodeTaint `json:"taints,omitempty"`
}

// NodeTaint is a taint of nodes. It does not say when it was added.
type NodeTaint struct {
	Key    string `json:"key" is:"taintKey"`
	Value  string `json:"value,omitempty" is:"value of a taint"`
	Effect string `json:"effect" is:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
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
	Name string `json:"name" is:"key" defines:"workload"`
	// Kind is Deployment, the default, StatefulSet, DaemonSet or Bare.
	Kind string `json:"kind,omitempty" oneOf:"kind: Deployment, StatefulSet, DaemonSet, Bare" default:"Deployment"`
	// Replicas is how many pods there are; a DaemonSet has as many as there are
	// nodes.
	Replicas int `json:"replicas,omitempty"`
	// TolerationSeconds is how long the pods tolerate that their node is not ready
	// or unreachable. The default is what the API server gives every pod, 300.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" min:"0" want:"0 is at once"`
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
	Placed map[string]int `json:"placed,omitempty" names:"group" min:"1" want:"say how many of the pods are on it"`
	// Pools are those on whose nodes a pod may be scheduled; by default all nodes.
	Pools []string `json:"pools,omitempty" names:"pool"`
	// MinAvailable is that of the workload's PodDisruptionBudget: how many pods
	// have to be left when one is evicted by --action=evict. By default it has
	// none.
	MinAvailable int `json:"minAvailable,omitempty" is:"budget" zero:"no PodDisruptionBudget"`
	// Priority is that of the pods, which counts with --low-priority-first.
	Priority int `json:"priority,omitempty" is:"priority"`
}

// Toleration is one of a workload's pods, as in a pod template.
type Toleration struct {
	// Key is that of the taint. Without one, and with Exists, it is for all
	// taints.
	Key string `json:"key,omitempty" is:"taintKey"`
	// Operator is Equal, the default, or Exists.
	Operator string `json:"operator,omitempty" oneOf:"operator: Equal, Exists"`
	Value    string `json:"value,omitempty"`
	// Effect is that of the taint; all if it is left out.
	Effect string `json:"effect,omitempty" is:"effect"`
	// Seconds is how long a NoExecute taint is tolerated; for ever if it is left
	// out.
	Seconds *int64 `json:"seconds,omitempty" min:"0" want:"0 is at once"`
}

// Controller is the processes of the controller and their flags.
type Controller struct {
	// Replicas is how many processes there are; one of them leads. The default is
	// 1.
	Replicas int `json:"replicas,omitempty" min:"1" max:"100" default:"1"`
	// RestartAfter is how long a process that has ended stays away. The default is
	// 5 s.
	RestartAfter Duration `json:"restartAfter,omitempty" is:"time" default:"5s"`
	// Flags are those of nodelifecycle, without the dashes.
	Flags map[string]FlagValue `json:"flags,omitempty"`
}
