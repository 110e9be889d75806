package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/klog/v2"
)

// fleetAPI stands for the API server of a fleet. It has leases and nodes with
// resource versions, and answers as v1.37.1 when they do not match. Its calls
// take as long as meddle says. They hold no lock meanwhile, as synctest needs.
type fleetAPI struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease
	nodes   map[string]*corev1.Node
	calls   []fleetCall
	under   map[string]int // calls under way, by "lease" and "node"
	most    map[string]int // their maximum
	// meddle is asked before each call. With an error, the call fails after that
	// time and does nothing.
	meddle func(verb, name string) (time.Duration, error)
	// admit changes what a status patch has asked for, as a webhook would.
	admit func(*corev1.Node)
}

type fleetCall struct {
	verb, name string
	at         time.Time
}

// hang is a call's latency that only its context ends.
const hang = time.Duration(math.MaxInt64)

var errFleetAPI = errors.New("the API server is not well")

var (
	leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	nodeResource  = schema.GroupResource{Resource: "nodes"}
)

func newFleetAPI() *fleetAPI {
	return &fleetAPI{
		leases: map[string]*coordinationv1.Lease{},
		nodes:  map[string]*corev1.Node{},
		under:  map[string]int{},
		most:   map[string]int{},
	}
}

func (f *fleetAPI) enter(ctx context.Context, kind, verb, name string) error {
	f.mu.Lock()
	f.calls = append(f.calls, fleetCall{verb, name, time.Now()})
	f.under[kind]++
	f.most[kind] = max(f.most[kind], f.under[kind])
	meddle := f.meddle
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.under[kind]--
		f.mu.Unlock()
	}()
	if meddle == nil {
		return ctx.Err()
	}
	latency, err := meddle(verb, name)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(latency):
		return err
	}
}

// next numbers a write. Called with the lock held.
func (f *fleetAPI) next() string {
	f.version++
	return strconv.Itoa(f.version)
}

type fleetLeases struct{ *fleetAPI }

func (f fleetLeases) Get(
	ctx context.Context, name string, _ metav1.GetOptions,
) (*coordinationv1.Lease, error) {
	if err := f.enter(ctx, "lease", "get lease", name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	lease, ok := f.leases[name]
	if !ok {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return lease.DeepCopy(), nil
}

func (f fleetLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	if err := f.enter(ctx, "lease", "create lease", lease.Name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.leases[lease.Name]; ok {
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	return f.store(lease), nil
}

func (f fleetLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if err := f.enter(ctx, "lease", "update lease", lease.Name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	stored, ok := f.leases[lease.Name]
	if !ok {
		return nil, apierrors.NewNotFound(leaseResource, lease.Name)
	}
	if stored.ResourceVersion != lease.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("modified"))
	}
	return f.store(lease), nil
}

func (f fleetLeases) store(lease *coordinationv1.Lease) *coordinationv1.Lease {
	stored := lease.DeepCopy()
	stored.ResourceVersion = f.next()
	stored.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "fleet"}}
	f.leases[lease.Name] = stored
	return stored.DeepCopy()
}

type fleetNodes struct{ *fleetAPI }

func (f fleetNodes) Get(
	ctx context.Context, name string, _ metav1.GetOptions,
) (*corev1.Node, error) {
	if err := f.enter(ctx, "node", "get node", name); err != nil {
		return nil, err
	}
	if node := f.node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(nodeResource, name)
}

func (f fleetNodes) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte,
	_ metav1.PatchOptions, subresources ...string,
) (*corev1.Node, error) {
	if kind != types.StrategicMergePatchType || len(subresources) != 1 || subresources[0] != "status" {
		return nil, fmt.Errorf("patch of type %s on %v", kind, subresources)
	}
	if err := f.enter(ctx, "node", "patch status", name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	node, ok := f.nodes[name]
	if !ok {
		return nil, apierrors.NewNotFound(nodeResource, name)
	}
	patched, err := patchedNode(node, data)
	if err != nil {
		return nil, err
	}
	if patched.ResourceVersion != node.ResourceVersion {
		return nil, apierrors.NewConflict(nodeResource, name, errors.New("modified"))
	}
	if patched.UID != node.UID {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
	}
	if f.admit != nil {
		f.admit(patched)
	}
	patched.ResourceVersion = f.next()
	f.nodes[name] = patched
	return patched.DeepCopy(), nil
}

func patchedNode(node *corev1.Node, patch []byte) (*corev1.Node, error) {
	before, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Node{})
	if err != nil {
		return nil, err
	}
	var patched corev1.Node
	return &patched, json.Unmarshal(after, &patched)
}

// node returns a copy, nil when there is none.
func (f *fleetAPI) node(name string) *corev1.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node, ok := f.nodes[name]; ok {
		return node.DeepCopy()
	}
	return nil
}

func (f *fleetAPI) lease(name string) *coordinationv1.Lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lease, ok := f.leases[name]; ok {
		return lease.DeepCopy()
	}
	return nil
}

// setNode is a write by another client: it creates the node or changes it.
func (f *fleetAPI) setNode(name string, change func(*corev1.Node)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid")}}
	if known, ok := f.nodes[name]; ok {
		node = known.DeepCopy()
	}
	change(node)
	node.ResourceVersion = f.next()
	f.nodes[name] = node
}

// setLease is a write by another client.
func (f *fleetAPI) setLease(name string, change func(*coordinationv1.Lease)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
	}
	if known, ok := f.leases[name]; ok {
		lease = known.DeepCopy()
	}
	change(lease)
	lease.ResourceVersion = f.next()
	f.leases[name] = lease
}

func (f *fleetAPI) setMeddle(meddle func(verb, name string) (time.Duration, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meddle = meddle
}

// times returns when calls with that verb were made for a node; no name: any.
func (f *fleetAPI) times(verb, name string) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	var times []time.Time
	for _, call := range f.calls {
		if call.verb == verb && (name == "" || call.name == name) {
			times = append(times, call.at)
		}
	}
	return times
}

// timesByNode returns when calls with that verb were made, for all nodes.
func (f *fleetAPI) timesByNode(verb string) map[string][]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	times := map[string][]time.Time{}
	for _, call := range f.calls {
		if call.verb == verb {
			times[call.name] = append(times[call.name], call.at)
		}
	}
	return times
}

// count returns how many calls of each verb there were since forgetCalls.
func (f *fleetAPI) count() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := map[string]int{}
	for _, call := range f.calls {
		count[call.verb]++
	}
	return count
}

// nodeCalls is count without the calls about leases. At a random moment a lease
// may be due as well.
func (f *fleetAPI) nodeCalls() map[string]int {
	count := f.count()
	maps.DeleteFunc(count, func(verb string, _ int) bool { return strings.HasSuffix(verb, "lease") })
	return count
}

// atOnce returns how many calls about leases, or nodes, were under way at a
// time.
func (f *fleetAPI) atOnce(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most[kind]
}

func (f *fleetAPI) forgetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// config is for a fleet on this API server, with the kubelet's times.
func (f *fleetAPI) config() Config {
	return Config{Leases: fleetLeases{f}, Nodes: fleetNodes{f}}
}

// fleetCache shows the nodes as an informer would that is always up to date.
type fleetCache struct{ *fleetAPI }

func (f fleetCache) Get(name string) (*corev1.Node, error) {
	if node := f.node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(nodeResource, name)
}

// longestGap is the most between two beats of a healthy node: the interval, its
// jitter and the hundredth by which a beat may be late.
const longestGap = 10*time.Second + 400*time.Millisecond + 100*time.Millisecond

// runFleet runs heartbeats until the test's end.
func runFleet(t *testing.T, config Config) *Sender {
	t.Helper()
	h, err := NewSender(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(quiet(ctx)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return h
}

// quiet discards the log of a test in which many beats fail or panic.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// fleetNode registers a node that is ready, and returns its half.
func (f *fleetAPI) fleetNode(name string) Node {
	f.setNode(name, func(*corev1.Node) {})
	return Node{
		Name: name,
		UID:  types.UID(name + "-uid"),
		Status: func(context.Context) (corev1.NodeStatus, error) {
			return readyStatus(corev1.ConditionTrue), nil
		},
	}
}

func readyStatus(ready corev1.ConditionStatus) corev1.NodeStatus {
	return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "Fleet", Message: "said by a test",
	}}}
}

// ready is the Ready condition as the API server has it.
func (f *fleetAPI) ready(t *testing.T, name string) corev1.NodeCondition {
	t.Helper()
	node := f.node(name)
	require.NotNil(t, node)
	condition, ok := findCondition(node.Status.Conditions, corev1.NodeReady)
	require.True(t, ok, "%s has no Ready condition", name)
	return condition
}

func gaps(times []time.Time) []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i].Sub(times[i-1]))
	}
	return gaps
}

// fleetCounts are metrics. Their methods do not block, as those of a real
// implementation would not.
type fleetCounts struct {
	mu     sync.Mutex
	counts map[string]int
	latest map[string]time.Duration
}

func (c *fleetCounts) add(what string, late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts, c.latest = map[string]int{}, map[string]time.Duration{}
	}
	c.counts[what]++
	c.latest[what] = late
}

func (c *fleetCounts) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

func (c *fleetCounts) LeaseRenewed(late time.Duration)   { c.add("lease renewed", late) }
func (c *fleetCounts) LeaseFailed()                      { c.add("lease failed", 0) }
func (c *fleetCounts) LeaseWithheld()                    { c.add("lease withheld", 0) }
func (c *fleetCounts) StatusReported(late time.Duration) { c.add("status reported", late) }
func (c *fleetCounts) StatusFailed()                     { c.add("status failed", 0) }
func (c *fleetCounts) StatusWithheld()                   { c.add("status withheld", 0) }
