package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

const (
	grace    = 40 * time.Second
	interval = 10 * time.Second
)

// world is a cluster in virtual time: objects, nodes that beat, and an API that
// performs what the controller asks for. What it performs the controller sees
// at once, as if its cache were never behind, unless a test says otherwise.
type world struct {
	t       *testing.T
	now     time.Time
	config  Config
	c       *Controller
	jobs    timedqueue.Source[timedqueue.Job]
	version int
	nodes   map[string]*corev1.Node
	leases  map[string]*coordinationv1.Lease
	pods    map[types.UID]*corev1.Pod
	silent  map[string]bool
	next    map[string]time.Time // beats
	done    []deed
	fail    func(task any) error
	webhook func(*corev1.Node) // changes what is patched
	blind   bool               // the cache sees nothing of what happens
	stalled bool               // the cache sees nothing of what happens to nodes
	// eviction is the result of the next eviction, if it is not nil, and err what
	// the last action that did not panic has returned.
	eviction *eviction.Result
	err      error
}

// errPanicked makes an action have no result, as when it panics.
var errPanicked = errors.New("panicked")

// deed is a task that was performed.
type deed struct {
	at   time.Time
	task any
	err  error
}

func newWorld(t *testing.T, config Config) *world {
	if config.Health.GracePeriod == 0 {
		config.Health.GracePeriod = grace
	}
	if config.Zone.ObservationWindow == nil {
		config.Zone.ObservationWindow = ptr.To(interval)
	}
	if config.Zone.Rate == nil {
		config.Zone.Rate = func(zone.State, zone.Counts) float64 { return 0.1 }
	}
	w := &world{
		t:      t,
		now:    time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		config: config,
		nodes:  map[string]*corev1.Node{},
		leases: map[string]*coordinationv1.Lease{},
		pods:   map[types.UID]*corev1.Pod{},
		silent: map[string]bool{},
		next:   map[string]time.Time{},
	}
	return w
}

// start starts a controller, the first or the one after a restart.
func (w *world) start() {
	var err error
	w.c, err = New(w.config, w.now)
	require.NoError(w.t, err)
	w.jobs, err = w.c.Jobs(w.actions(), w.now)
	require.NoError(w.t, err)
	w.relist()
	for _, pod := range w.sortedPods() {
		w.c.ObservePod(w.now, pod)
	}
	w.c.MarkSynced(w.now)
}

// relist shows the controller all nodes and leases as they are.
func (w *world) relist() {
	for _, name := range w.names() {
		w.c.ObserveNode(w.now, w.nodes[name])
		if lease := w.leases[name]; lease != nil {
			w.c.ObserveLease(w.now, lease)
		}
	}
}

func (w *world) names() []string {
	var names []string
	for name := range w.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *world) sortedPods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range w.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return slices.Compare([]byte(a.UID), []byte(b.UID)) })
	return pods
}

func (w *world) stamp(meta *metav1.ObjectMeta) {
	w.version++
	meta.ResourceVersion = strconv.Itoa(w.version)
}

// addNode adds a ready node whose beats are spread over the interval.
func (w *world) addNode(name, zoneName string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, w.version)),
			Labels: map[string]string{corev1.LabelTopologyZone: zoneName},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastHeartbeatTime: metav1.NewTime(w.now.Truncate(time.Second))},
		}},
	}
	w.next[name] = w.now.Add(time.Duration(len(w.nodes)%10) * interval / 10)
	w.setNode(node)
	return node
}

func (w *world) addNodes(n int, zoneName string) []string {
	var names []string
	for i := range n {
		name := fmt.Sprintf("%s-%03d", zoneName, i)
		w.addNode(name, zoneName)
		names = append(names, name)
	}
	return names
}

func (w *world) addPod(name, on string, tolerations ...corev1.Toleration) *corev1.Pod {
	w.version++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			UID: types.UID(fmt.Sprintf("%s-%d", name, w.version))},
		Spec: corev1.PodSpec{NodeName: on, Tolerations: tolerations},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second))},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
	w.setPod(pod)
	return pod
}

func tolerate(seconds int64) corev1.Toleration {
	return corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: &seconds}
}

func (w *world) setNode(node *corev1.Node) {
	w.stamp(&node.ObjectMeta)
	w.nodes[node.Name] = node
	if w.c != nil && !w.blind && !w.stalled {
		w.c.ObserveNode(w.now, node)
	}
}

func (w *world) setPod(pod *corev1.Pod) {
	w.stamp(&pod.ObjectMeta)
	w.pods[pod.UID] = pod
	if w.c != nil && !w.blind {
		w.c.ObservePod(w.now, pod)
	}
}

func (w *world) deleteNode(name string) {
	delete(w.nodes, name)
	delete(w.leases, name)
	w.c.ForgetNode(w.now, name)
	w.c.ForgetLease(w.now, name)
}

func (w *world) deletePod(uid types.UID) {
	delete(w.pods, uid)
	w.c.ForgetPod(w.now, uid)
}

// beat renews a node's lease, and reports it ready if it does not say so.
func (w *world) beat(name string) {
	renewed := metav1.NewMicroTime(w.now)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	w.stamp(&lease.ObjectMeta)
	w.leases[name] = lease
	if w.c != nil && !w.blind {
		w.c.ObserveLease(w.now, lease)
	}
	if node := w.nodes[name]; node.Status.Conditions[0].Status != corev1.ConditionTrue {
		w.report(name, corev1.ConditionTrue)
	}
}

// report is the kubelet's report of its node's Ready condition.
func (w *world) report(name string, status corev1.ConditionStatus) {
	node := w.nodes[name].DeepCopy()
	ready := &node.Status.Conditions[0]
	ready.Status, ready.Reason, ready.LastHeartbeatTime = status, "Kubelet", metav1.NewTime(w.now.Truncate(time.Second))
	w.setNode(node)
}

// advance lets time pass, with all beats and actions in their order.
func (w *world) advance(d time.Duration) {
	end := w.now.Add(d)
	for {
		w.act()
		at := end
		for _, name := range w.names() {
			if !w.silent[name] && w.next[name].Before(at) {
				at = w.next[name]
			}
		}
		if next, ok := w.jobs.Next(w.now); ok && next.Before(at) {
			at = next
		}
		if at.After(w.now) {
			w.now = at
		}
		if !w.now.Before(end) {
			w.act()
			return
		}
		for _, name := range w.names() {
			if !w.silent[name] && !w.next[name].After(w.now) {
				w.next[name] = w.now.Add(interval)
				w.beat(name)
			}
		}
	}
}

// act performs all that the controller asks for now.
func (w *world) act() {
	for range 100_000 {
		job, ok := w.jobs.Start(w.now)
		if !ok {
			return
		}
		w.perform(job)
		w.done = append(w.done, deed{w.now, job.Task(), w.err})
		job.Finish(w.now)
	}
	w.t.Fatal("the controller does not come to rest")
}

// finish performs a job and ends it.
func (w *world) finish(job timedqueue.Job) {
	w.perform(job)
	job.Finish(w.now)
}

// finishFailed ends a job that fails.
func (w *world) finishFailed(job timedqueue.Job) {
	w.performFailed(job)
	job.Finish(w.now)
}

// performFailed performs a job that fails.
func (w *world) performFailed(job timedqueue.Job) {
	fail := w.fail
	w.fail = func(any) error { return errServer }
	w.perform(job)
	w.fail = fail
}

// finishEviction ends an eviction with a result.
func (w *world) finishEviction(job timedqueue.Job, result eviction.Result) {
	w.eviction = &result
	w.perform(job)
	w.eviction = nil
	job.Finish(w.now)
}

func (w *world) perform(job timedqueue.Job) {
	w.err = nil
	job.Perform(w.t.Context())
}

// actions perform what the controller asks for. They have it observe what the
// API server has returned, as the edge does.
func (w *world) actions() Actions {
	return Actions{
		ReadLeases: func(_ context.Context, read LeaseRead) Leases {
			if failed, err := w.fails(read); failed {
				return Leases{Err: err}
			}
			if read.Node != nil {
				return Leases{Versions: w.versions(read.Node.Name)}
			}
			return Leases{Versions: w.versions(slices.Collect(maps.Keys(w.leases))...)}
		},
		Declare: func(_ context.Context, d Declaration) Result[*corev1.Node] {
			if failed, err := w.fails(d); failed {
				return Result[*corev1.Node]{Err: err}
			}
			return w.nodeResult(w.patchNode(d.Node.Name, d.Patch))
		},
		ChangeNode: func(_ context.Context, change NodeChange) Result[*corev1.Node] {
			if failed, err := w.fails(change); failed {
				return Result[*corev1.Node]{Err: err}
			}
			if readsNode(change) {
				return w.nodeResult(w.readNode(change.Node.Name))
			}
			return w.nodeResult(w.patchNode(change.Node.Name, change.Patch))
		},
		MarkPod: func(_ context.Context, mark PodMark) Result[*corev1.Pod] {
			if failed, err := w.fails(mark); failed {
				return Result[*corev1.Pod]{Err: err}
			}
			if readsPod(mark) {
				return w.podResult(w.readPod(mark.Pod))
			}
			return w.podResult(w.patchPod(mark.Pod.UID, mark.Patch))
		},
		Evict: func(_ context.Context, task eviction.Task) eviction.Result {
			switch failed, err := w.fails(task); {
			case w.eviction != nil:
				return *w.eviction
			case failed && err == nil:
				return eviction.Result{}
			case failed:
				return eviction.Result{Outcome: eviction.OutcomeFailed, Err: err}
			}
			return w.evict(task)
		},
		Record: func(context.Context, Record) struct{} { return struct{}{} },
	}
}

// fails reports whether a task fails, and why if it does not panic.
func (w *world) fails(task any) (failed bool, err error) {
	if w.fail == nil {
		return false, nil
	}
	err = w.fail(task)
	if errors.Is(err, errPanicked) {
		return true, nil
	}
	w.err = err
	return err != nil, err
}

func (w *world) nodeResult(node *corev1.Node, err error) Result[*corev1.Node] {
	if w.err = err; err != nil {
		return Result[*corev1.Node]{Err: err}
	}
	n := w.c.objects.nodes[node.Name]
	if n != nil && older(n.object.ResourceVersion, node.ResourceVersion) {
		w.c.ObserveNode(w.now, node)
	}
	return Result[*corev1.Node]{Object: node}
}

func (w *world) podResult(pod *corev1.Pod, err error) Result[*corev1.Pod] {
	if w.err = err; err != nil {
		return Result[*corev1.Pod]{Err: err}
	}
	p := w.c.objects.pods[PodID(pod)]
	if p != nil && older(p.object.ResourceVersion, pod.ResourceVersion) {
		w.c.ObservePod(w.now, pod)
	}
	return Result[*corev1.Pod]{Object: pod}
}

// versions are the versions of leases as the API server has them.
func (w *world) versions(names ...string) map[string]string {
	versions := map[string]string{}
	for _, name := range names {
		if lease := w.leases[name]; lease != nil {
			versions[name] = lease.ResourceVersion
		}
	}
	return versions
}

func (w *world) readNode(name string) (*corev1.Node, error) {
	node, ok := w.nodes[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return node, nil
}

// readPod returns the pod of that name.
func (w *world) readPod(named *corev1.Pod) (*corev1.Pod, error) {
	for _, pod := range w.pods {
		if pod.Namespace == named.Namespace && pod.Name == named.Name {
			return pod, nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), named.Name)
}

func (w *world) patchNode(name string, patch Patch) (*corev1.Node, error) {
	node, err := w.readNode(name)
	if err != nil {
		return nil, err
	}
	patched := &corev1.Node{}
	if err := apply(node, patched, patch); err != nil {
		return nil, err
	}
	if w.webhook != nil {
		w.webhook(patched)
	}
	w.setNode(patched)
	return patched, nil
}

func (w *world) patchPod(uid types.UID, patch Patch) (*corev1.Pod, error) {
	pod, ok := w.pods[uid]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, string(uid))
	}
	patched := &corev1.Pod{}
	if err := apply(pod, patched, patch); err != nil {
		return nil, err
	}
	w.setPod(patched)
	return patched, nil
}

// evict deletes a pod: it is gone at once.
func (w *world) evict(task eviction.Task) eviction.Result {
	if _, ok := w.pods[task.Pod.UID]; !ok {
		return eviction.Result{Outcome: eviction.OutcomeGone}
	}
	w.deletePod(task.Pod.UID)
	return eviction.Result{Outcome: eviction.OutcomeEvicted}
}

// apply patches an object as the API server does, and refuses what it refuses.
func apply(object, into any, patch Patch) error {
	before, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var after []byte
	if patch.Type == types.JSONPatchType {
		decoded, err := jsonpatch.DecodePatch(patch.Data)
		if err != nil {
			return err
		}
		if after, err = decoded.Apply(before); err != nil {
			return apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{}, "", err.Error(), 0, false)
		}
	} else if after, err = strategicpatch.StrategicMergePatch(before, patch.Data, object); err != nil {
		return err
	}
	return json.Unmarshal(after, into)
}

var errServer = errors.New("the API server is not available")

// Kinds of tasks.
func readsOne(read LeaseRead) bool         { return read.Node != nil }
func readsAll(read LeaseRead) bool         { return read.Node == nil }
func patchesTaints(change NodeChange) bool { return change.Action == NodeActionTaint }
func patchesLabels(change NodeChange) bool { return change.Action == NodeActionLabel }
func readsNode(change NodeChange) bool     { return change.Action == NodeActionRead }
func releasesTaint(change NodeChange) bool { return change.Released }
func marksPod(mark PodMark) bool           { return mark.Action == PodActionMark }
func readsPod(mark PodMark) bool           { return mark.Action == PodActionRead }

// is reports whether a task is of a type and, if given, of a kind.
func is[T any](task any, kinds ...func(T) bool) bool {
	t, is := task.(T)
	return is && !slices.ContainsFunc(kinds, func(is func(T) bool) bool { return !is(t) })
}

// like is a function that reports what is does.
func like[T any](kinds ...func(T) bool) func(task any) bool {
	return func(task any) bool { return is(task, kinds...) }
}

// deeds returns what was done of a type and, if given, of a kind.
func deeds[T any](w *world, kinds ...func(T) bool) []T {
	var found []T
	for _, d := range w.done {
		if d.err == nil && is(d.task, kinds...) {
			found = append(found, d.task.(T))
		}
	}
	return found
}

// times returns when it was done, since the start given.
func times[T any](w *world, since time.Time, kinds ...func(T) bool) []time.Duration {
	var found []time.Duration
	for _, d := range w.done {
		if d.err == nil && is(d.task, kinds...) {
			found = append(found, d.at.Sub(since))
		}
	}
	return found
}

func (w *world) taintsOf(name string) []string {
	var taints []string
	for _, t := range w.nodes[name].Spec.Taints {
		taints = append(taints, t.Key+":"+string(t.Effect))
	}
	slices.Sort(taints)
	return taints
}

const (
	unreachableNoSchedule = corev1.TaintNodeUnreachable + ":NoSchedule"
	unreachableNoExecute  = corev1.TaintNodeUnreachable + ":NoExecute"
	notReadyNoSchedule    = corev1.TaintNodeNotReady + ":NoSchedule"
	notReadyNoExecute     = corev1.TaintNodeNotReady + ":NoExecute"
)

// suspend suspends the cluster, as when all zones are found to be down.
func (w *world) suspend() {
	w.c.obey(w.now, w.c.zones.enter(w.now, phase{zone.PhaseSuspended, zone.PhaseSuspended}))
}
