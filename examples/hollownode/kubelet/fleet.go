package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/timedqueue"
)

// FleetConfig says how the nodes of a fleet run.
type FleetConfig struct {
	// Runtime runs the containers of all nodes. Required. The fleet alone uses it.
	Runtime cri.Runtime
	// Rand returns numbers in [0, 1). It spreads the syncs of pods. Nil means that
	// they are not spread.
	Rand func() float64
	// Backoff is the wait after a call of the API server that failed. Statuses and
	// deletions of pods wait for 10 s at the most.
	Backoff timedqueue.Backoff
	// Capacity is what nodes have of each resource of which their objects say
	// nothing. Unless it says otherwise, that is 32 CPUs, 256 GiB of memory, 1 TiB
	// of storage and 110 pods.
	Capacity corev1.ResourceList
	// ListPods makes each start of a kubelet list its pods.
	ListPods bool
	// StaticPods are the pods that each node runs by itself; see
	// [ValidateStaticPods]. The name of the node is added to theirs. They are only
	// read.
	StaticPods []*corev1.Pod
	// Record takes each event when it happens. It must not wait and must not call
	// the fleet. Nil means that there are none, which costs nothing.
	Record func(Event)
}

// ErrInvalidConfig is wrapped by the errors of [NewFleet].
var ErrInvalidConfig = errors.New("invalid fleet config")

// Validate joins all that is wrong with the config.
func (c FleetConfig) Validate() error {
	var problems []error
	if c.Runtime == nil {
		problems = append(problems, errors.New("config field Runtime is nil, want a runtime"))
	}
	if err := c.Backoff.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("config field Backoff: %w", err))
	}
	if err := ValidateStaticPods(c.StaticPods); err != nil {
		problems = append(problems, fmt.Errorf("config field StaticPods: %w", err))
	}
	return errors.Join(problems...)
}

// Fleet is the kubelets of any number of nodes. It has no clock and starts
// nothing. It is not safe for concurrent use.
//
// Observe nodes and pods, and perform the tasks that Start hands out. The tasks
// are the calls of the API server. All else happens inside, at the latest in
// the call of Start at the time that Next tells.
type Fleet struct {
	config FleetConfig
	queue  *timedqueue.Queue[dueKey, *podWorker]
	nodes  map[string]*kubelet
	pods   map[types.UID]*podWorker
	// static are the static pods of each node.
	static   staticPods
	recorder recorder
	// mirrors are the mirror pods in the API.
	mirrors map[types.UID]*corev1.Pod
	// removals are pods whose removal waits until all pods are known.
	removals []types.UID
	// unlisted are nodes whose orphans end when all pods are known.
	unlisted []*kubelet
	synced   bool
	// unregistered counts the nodes that are to create their objects.
	unregistered int
	// halted holds all final deletions.
	halted bool
}

// NewFleet returns a fleet without nodes.
func NewFleet(config FleetConfig, now time.Time) (*Fleet, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[dueKey, *podWorker]{Backoff: config.Backoff}, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	config.Capacity = completed(config.Capacity, defaultCapacity())
	f := &Fleet{
		config: config, queue: queue, nodes: map[string]*kubelet{}, pods: map[types.UID]*podWorker{},
		static: staticPods{version: 1}, recorder: recorder{config.Record}, mirrors: map[types.UID]*corev1.Pod{},
	}
	if _, err := f.static.set(config.StaticPods); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return f, nil
}

// node returns the record of a node, and makes it if there is none.
func (f *Fleet) node(now time.Time, name string) *kubelet {
	k, known := f.nodes[name]
	if !known {
		k = newKubelet(f, now, name)
		f.nodes[name] = k
	}
	return k
}

// SetStaticPods replaces the static pods of all nodes. Those that are no longer
// among them end, and one that has changed is replaced. When it returns an
// error nothing has changed. O(nodes).
func (f *Fleet) SetStaticPods(now time.Time, pods []*corev1.Pod) error {
	changed, err := f.static.set(pods)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	now = f.queue.Advance(now)
	if !changed {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		f.nodes[name].housekeeping.begin(now)
	}
	return nil
}

// ObserveNode adds a node or replaces its object. Pods that came before their
// node are admitted now.
func (f *Fleet) ObserveNode(now time.Time, node *corev1.Node) {
	now = f.queue.Advance(now)
	k := f.node(now, node.Name)
	known, before := k.object != nil, k.object
	k.object = node
	if known {
		f.recorder.tellChange(k, before)
	} else {
		if k.nodeStatus.registered = k.nodeStatus.unregistered != nil; k.nodeStatus.registered {
			k.nodeStatus.unregistered = nil
			f.unregistered--
		}
		k.start(now)
		k.housekeeping.begin(now)
	}
}

// ForgetNode removes a node whose machine is gone, with all that ran on it.
// Nothing is written of its pods. They wait for a node of that name, until they
// are forgotten themselves.
func (f *Fleet) ForgetNode(now time.Time, name string) {
	now = f.queue.Advance(now)
	f.config.Runtime.RemoveNode(now, name)
	if k, known := f.nodes[name]; known {
		k.object, k.faults, k.nodeStatus.bootID = nil, Faults{}, ""
		k.configuration.static, k.configuration.configured = nil, 0
		for _, w := range k.syncLoop.pods {
			if isStatic(w.pod) {
				w.leave(apiGone)
			}
		}
		k.beginLife(now)
	}
}

// ObservePod adds a pod that is bound to a node, or replaces its object. The
// latest update wins. A mirror pod shows the static pod of its name, and is
// deleted if there is none.
func (f *Fleet) ObservePod(now time.Time, pod *corev1.Pod) {
	now = f.queue.Advance(now)
	if isMirror(pod) {
		f.node(now, pod.Spec.NodeName).mirrorPods.observe(now, pod)
		return
	}
	pod = fromAPI(pod)
	w, known := f.pods[pod.UID]
	if !known {
		f.node(now, pod.Spec.NodeName).syncLoop.add(now, pod)
		return
	}
	switch {
	case w.api == apiGone:
		w.termination.back = pod
		return
	case w.former() || !w.node.heeds():
		w.unseen = pod
		return
	}
	old := w.pod
	w.pod, w.unseen = pod, nil // an older update may still wait for the round
	w.node.syncLoop.update(now, w, old)
}

// HasPod reports whether a pod is known: it has been observed, or only the
// runtime has it.
func (f *Fleet) HasPod(uid types.UID) bool { return f.pods[uid] != nil || f.mirrors[uid] != nil }

// ForgetPod removes a pod that the API server no longer has. Its containers
// end. Before MarkSynced the removal waits.
func (f *Fleet) ForgetPod(now time.Time, uid types.UID) {
	now = f.queue.Advance(now)
	w, known := f.pods[uid]
	mirror, isMirror := f.mirrors[uid]
	switch {
	case isMirror:
		f.nodes[mirror.Spec.NodeName].mirrorPods.forget(now, mirror)
	case !known:
	case !f.synced:
		f.removals = append(f.removals, uid)
	default:
		w.termination.back = nil
		w.termination.remove(now)
	}
}

// MarkSynced tells that all pods have been observed. From then on static pods
// start, and pods that only the runtime has are ended.
func (f *Fleet) MarkSynced(now time.Time) {
	f.queue.Advance(now)
	f.synced = true
}

// Halt holds the final deletions of pods and those of mirror pods, until
// Resume. All else goes on.
func (f *Fleet) Halt(now time.Time) {
	f.queue.Advance(now)
	f.halted = true
}

// Resume lets what Halt has held go on. O(pods log pods).
func (f *Fleet) Resume(now time.Time) {
	now = f.queue.Advance(now)
	f.halted = false
	for _, uid := range slices.Sorted(maps.Keys(f.pods)) {
		if w := f.pods[uid]; !w.former() {
			w.publication.request(now)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(f.mirrors)) {
		pod := f.mirrors[uid]
		f.nodes[pod.Spec.NodeName].mirrorPods.request(now, nameOf(pod))
	}
}

// NodeStates returns how many of the observed nodes are in each state: silent;
// failing or stopped without a runtime; else running. Each state is there.
// O(nodes).
func (f *Fleet) NodeStates() map[string]int {
	const silent = "silent"
	states := map[string]int{
		silent: 0, loopRunning.String(): 0, loopFailing.String(): 0, loopStopped.String(): 0,
	}
	for _, k := range f.nodes {
		switch {
		case k.object == nil:
		case !k.hears():
			states[silent]++
		default:
			states[k.runtime.loop.String()]++
		}
	}
	return states
}

// resume does one thing that has waited until all pods were known, and reports
// whether there was one.
func (f *Fleet) resume(now time.Time) bool {
	switch {
	case !f.synced:
		return false
	case len(f.removals) > 0:
		uid := f.removals[0]
		f.removals = f.removals[1:]
		if w, known := f.pods[uid]; known {
			w.termination.remove(now)
		}
		return true
	case len(f.unlisted) > 0:
		k := f.unlisted[0]
		f.unlisted = f.unlisted[1:]
		switch {
		case k.object == nil || k.housekeeping.visited != noRound || k.runtime.loop != loopRunning:
		case len(f.static.manifests) > 0:
			k.housekeeping.begin(now) // its containers may be of static pods
		default:
			k.housekeeping.adoptOrphans(now)
		}
		return true
	default:
		return false
	}
}

// after returns a time after a period, which is lengthened by up to a half.
func (f *Fleet) after(now time.Time, period time.Duration) time.Time {
	if f.config.Rand != nil {
		period += time.Duration(resyncJitter * f.config.Rand() * float64(period))
	}
	return now.Add(period)
}

// spread returns a time within a period, so that what many nodes or probes do
// in each period does not fall together.
func (f *Fleet) spread(now time.Time, period time.Duration) time.Time {
	if f.config.Rand != nil {
		now = now.Add(time.Duration(f.config.Rand() * float64(period)))
	}
	return now
}

// Start lets happen what is due, and hands out the next call of the API server.
// When there is too much for one call, Next returns now.
func (f *Fleet) Start(now time.Time) (Task, bool) {
	now = f.queue.Advance(now)
	for range stepsATurn {
		if f.resume(now) {
			continue
		}
		if event, ok := f.config.Runtime.Poll(now); ok {
			if w := f.pods[event.Pod]; w != nil {
				w.node.pleg.take(now, w, event)
			}
			continue
		}
		item, ok := f.queue.Start(now)
		if !ok {
			return Task{}, false
		}
		if !item.Key.kind.isCall() {
			f.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
			if k := f.kubeletOf(item); k != nil {
				k.syncLoop.perform(now, item)
			}
		} else if task, needed := f.call(now, item); needed {
			return task, true
		}
	}
	return Task{}, false
}

// kubeletOf returns the kubelet of which something is due, or nil if its node
// has gone.
func (f *Fleet) kubeletOf(item dueItem) *kubelet {
	if item.Value != nil {
		return item.Value.node
	}
	return f.nodes[item.Key.node]
}

// call returns the task of an item, and reports whether it is needed. A call
// that is not needed any more, or that a fault makes fail, is ended here.
func (f *Fleet) call(now time.Time, item dueItem) (task Task, needed bool) {
	k, kind := f.kubeletOf(item), item.Key.kind
	refusal := timedqueue.Result{Outcome: timedqueue.OutcomeSkipped}
	switch {
	case k == nil:
	case kind == dueWrite && f.syncsFirst(item):
		f.queue.Finish(now, item, refusal)
		f.queue.Add(item.Key, item.Value, item.Due) // behind the sync
		return Task{}, false
	case kind == dueWrite:
		task, needed = item.Value.publication.task(item)
	case kind == dueMirror:
		task, needed = k.mirrorPods.task(item)
	default:
		task, needed = k.nodeStatus.task(now, item)
	}
	// The call of a report is that of a heartbeat.
	if needed && kind != dueReport && k.fails() {
		if kind == dueWrite {
			item.Value.publication.end(task.version, false)
		}
		needed, refusal = false, k.retry(now, item)
	}
	if !needed {
		f.queue.Finish(now, item, refusal)
	}
	return task, needed
}

// syncsFirst reports whether a sync of the same moment comes before a write. So
// what happens at one moment is one write: a pod whose containers take no time
// to start is written as running. A later sync delays no write.
func (f *Fleet) syncsFirst(item dueItem) bool {
	sync, found := f.queue.Get(dueKey{pod: item.Key.pod, kind: dueSync})
	return found && !sync.Due.IsZero() && !sync.Due.After(item.Due)
}

// Finish takes the result of a task.
func (f *Fleet) Finish(now time.Time, task Task, result Result) {
	now = f.queue.Advance(now)
	outcome := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	switch k := f.kubeletOf(task.item); {
	case k == nil:
	case task.item.Value != nil:
		outcome = task.item.Value.publication.finish(now, task, result)
	case task.item.Key.kind == dueMirror:
		outcome = k.mirrorPods.finish(now, task, result)
	case result != ResultDone:
		outcome = k.retry(now, task.item)
	}
	f.queue.Finish(now, task.item, outcome)
	if w := task.item.Value; w != nil && result == ResultGone {
		w.node.syncLoop.lose(now, w, task.Pod)
	}
}

// Next returns when Start can next do something.
func (f *Fleet) Next(now time.Time) (time.Time, bool) {
	if f.synced && len(f.removals)+len(f.unlisted) > 0 {
		return now, true
	}
	next, found := f.queue.Next(now)
	if at, ok := f.config.Runtime.Next(now); ok && (!found || at.Before(next)) {
		next, found = at, true
	}
	return next, found
}

// NodeStatus returns what a node reports at a time. It reports false of a node
// that is not observed.
func (f *Fleet) NodeStatus(now time.Time, name string) (corev1.NodeStatus, bool) {
	k, known := f.nodes[name]
	if !known || k.object == nil {
		return corev1.NodeStatus{}, false
	}
	return k.nodeStatus.report(f.queue.Advance(now), f.config.Capacity), true
}

// Register makes a node create its object, with the labels, annotations and
// taints of this one. Its status is the first report, and its faults hold from
// now on. A node that is observed meanwhile is registered. A node without a
// name is an error.
func (f *Fleet) Register(now time.Time, node *corev1.Node) error {
	if node.Name == "" {
		return fmt.Errorf("%w: node to register has no name", ErrInvalidConfig)
	}
	now = f.queue.Advance(now)
	k := f.node(now, node.Name)
	if k.object == nil {
		if k.nodeStatus.unregistered == nil {
			f.unregistered++
		}
		k.nodeStatus.unregistered = node
		k.faults, _ = ParseFaults(node) // what is wrong is told when it is observed
		k.schedule(dueRegister, now.Add(k.faults.APILatency))
	}
	return nil
}

// Unregistered returns how many nodes are to create their objects, and have not
// been observed.
func (f *Fleet) Unregistered() int { return f.unregistered }

// SetFaults makes the faults of a node hold from now on. Those of an unknown
// node are ignored. A machine that has reported another boot reboots.
func (f *Fleet) SetFaults(now time.Time, name string, faults Faults) {
	now = f.queue.Advance(now)
	if k, known := f.nodes[name]; known && k.object != nil {
		list := dueKey{node: name, kind: dueList}
		if _, waits := f.queue.Get(list); waits && k.faults.APILatency != faults.APILatency {
			f.queue.Set(list, nil, now.Add(faults.APILatency))
		}
		k.setFaults(now, faults)
	}
}

// Call decides about a call that a node makes outside of a [Task], which is one
// for its heartbeats. A node that is not observed has no faults. O(1).
func (f *Fleet) Call(name string) Call {
	k, known := f.nodes[name]
	if !known {
		return Call{}
	}
	return Call{Fails: k.fails(), Latency: k.faults.APILatency, ClockSkew: k.faults.ClockSkew}
}
