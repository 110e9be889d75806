package judge_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	grace        = 30 * time.Second
	startupGrace = 40 * time.Second
	wave         = 11 * time.Second
	patience     = 60 * time.Second // of the pods
	calmBound    = 70 * time.Second
	concurrent   = 16
)

// court is a small world with a judge, in which the test itself is the
// controller: it sends the calls, right ones and wrong ones.
type court struct {
	t      *testing.T
	world  *model.World
	judge  *judge.Judge
	client *network.Client
	life   int
	memory *judge.Memory
	// silenced machines, and how to restore them.
	restore map[string]func()
	checks  bool
	// calmSince is what the judge is told.
	calmSince time.Duration
}

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// newCourt returns a court in which zones a and b have so many nodes each, with
// a pod on every one. A client has been leading for a while.
func newCourt(t *testing.T, nodes int, changes ...func(*judge.Settings)) *court {
	c := emptyCourt(t, nodes, changes...)
	c.startClient()
	c.run(calmBound + 20*time.Second)
	return c
}

func emptyCourt(t *testing.T, nodes int, changes ...func(*judge.Settings)) *court {
	c := &court{t: t, restore: make(map[string]func()), checks: true}
	c.world = model.New(model.Config{
		Seed: 7, Start: start, BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
		Latency:    network.Span{Min: time.Millisecond, Max: 2 * time.Millisecond},
		WatchDelay: network.Span{Min: time.Millisecond, Max: 2 * time.Millisecond},
	})
	owner := c.world.AddWorkload("web", model.OnceGone, tolerations(patience))
	for i := range nodes {
		for _, zone := range []string{"a", "b"} {
			c.world.AddMachine(name(zone, i), zone, zone)
			owner.Place(name(zone, i))
		}
	}
	settings := judge.Settings{
		Grace: grace, StartupGrace: startupGrace, BeatInterval: 10 * time.Second,
		Rate: 0.1, SecondaryRate: 0.05, Unhealthy: 0.55, LargeZone: 50,
		QPS: 1000, Concurrent: concurrent, Delay: 10 * time.Millisecond,
	}
	for _, change := range changes {
		change(&settings)
	}
	c.judge = judge.New(c.world, settings, c)
	c.world.Watch(c.judge)
	return c
}

func name(zone string, i int) string { return zone + "-" + string(rune('0'+i)) }

func tolerations(lasts time.Duration) []corev1.Toleration {
	seconds := int64(lasts / time.Second)
	return []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds},
	}
}

// Calm, Acting and Memory are what the judge asks.
func (c *court) Calm() (time.Duration, bool) { return c.calmSince, c.client != nil }

func (c *court) Acting() *network.Client { return c.client }

func (c *court) Memory() judge.Memory {
	if c.memory != nil {
		return *c.memory
	}
	nodes, pods := c.client.CachedCount(network.Nodes), c.client.CachedCount(network.Pods)
	return judge.Memory{Nodes: nodes, Pods: pods, Zones: 2}
}

// startClient begins a life of the controller, which leads.
func (c *court) startClient() {
	c.startFollower()
	c.world.Note(network.Note{Kind: network.Leads, Client: c.client})
}

// startFollower begins a life of the controller, which does not lead yet.
func (c *court) startFollower() {
	if c.client != nil {
		c.client.Stop()
		c.world.Note(network.Note{Kind: network.Stopped, Client: c.client})
	}
	c.life++
	c.client = c.world.NewClient("controller", c.life, func() {})
	c.world.Note(network.Note{Kind: network.Started, Client: c.client})
	for _, kind := range []network.Kind{network.Nodes, network.Leases, network.Pods} {
		c.client.Inform(kind, cache.ResourceEventHandlerFuncs{})
	}
	c.pass(100 * time.Millisecond)
	require.True(c.t, c.client.Synced())
	c.world.Note(network.Note{Kind: network.Synced, Client: c.client})
}

// pass lets time pass.
func (c *court) pass(d time.Duration) {
	until := c.world.Elapsed() + d
	for c.world.Step(until) {
	}
}

// run lets time pass under the eyes of the judge.
func (c *court) run(d time.Duration) {
	until := c.world.Elapsed() + d
	for c.world.Elapsed() < until {
		c.pass(min(time.Second, until-c.world.Elapsed()))
		if c.checks {
			c.judge.Check()
		}
	}
}

func (c *court) runUntil(at time.Duration) { c.run(at - c.world.Elapsed()) }

// call sends a call and waits for the answer.
func (c *court) call(call *network.Call) *network.Call {
	answered := false
	c.client.Call(call, func(*network.Call) { answered = true })
	for !answered {
		c.pass(time.Millisecond)
	}
	c.pass(5 * time.Millisecond) // for the watches
	return call
}

// silence cuts a machine off just after it has beaten.
func (c *court) silence(names ...string) {
	for _, one := range names {
		c.restore[one] = c.world.Machine(one).Silence()
	}
}

// expire waits until a silent machine's grace period has ended.
func (c *court) expire(node string) {
	c.runUntil(c.world.Machine(node).LastBeat + grace + 20*time.Millisecond)
}

// declare makes a node Unknown, after a look at its lease.
func (c *court) declare(node string) {
	c.call(&network.Call{Verb: network.Get, Kind: network.Leases, Name: node})
	c.setReady(node)
}

// fails makes a node's Ready False.
func fails(node *corev1.Node) {
	node.Status.Conditions = slices.Clone(node.Status.Conditions)
	for i := range node.Status.Conditions {
		if one := &node.Status.Conditions[i]; one.Type == corev1.NodeReady {
			one.Status = corev1.ConditionFalse
		}
	}
}

func (c *court) setReady(node string) { c.call(c.unknown(node, c.world.Now())) }

// unknown is the call that makes a node Unknown since some time.
func (c *court) unknown(node string, since time.Time) *network.Call {
	unknown := map[string]any{"type": "Ready", "status": "Unknown", "lastTransitionTime": metav1.NewTime(since)}
	return &network.Call{
		Verb: network.Patch, Kind: network.Nodes, Name: node, PatchType: types.StrategicMergePatchType, Subresource: "status",
		Data: encode(c.t, map[string]any{"status": map[string]any{"conditions": []map[string]any{unknown}}}),
	}
}

func encode(t *testing.T, what any) []byte {
	data, err := json.Marshal(what)
	require.NoError(t, err)
	return data
}

func noSchedule(key string) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
}

// noExecute is a taint that is added now.
func (c *court) noExecute(key string) corev1.Taint {
	at := metav1.NewTime(c.world.Now().Truncate(time.Second))
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}
}

// setTaints makes the client give a node these taints.
func (c *court) setTaints(node string, taints ...corev1.Taint) *network.Call {
	return c.call(&network.Call{
		Verb: network.Patch, Kind: network.Nodes, Name: node, PatchType: types.JSONPatchType,
		Data: encode(c.t, []map[string]any{{"op": "add", "path": "/spec/taints", "value": taints}}),
	})
}

// fall makes nodes silent and does what has to be done at once.
func (c *court) fall(nodes ...string) {
	c.silence(nodes...)
	slices.SortFunc(nodes, func(a, b string) int { return int(c.world.Machine(a).LastBeat - c.world.Machine(b).LastBeat) })
	for _, node := range nodes {
		c.expire(node)
		c.declare(node)
		c.setTaints(node, noSchedule(corev1.TaintNodeUnreachable))
		for _, pod := range c.world.PodsOn(node) {
			c.markNotReady(pod.Name)
		}
	}
}

// execute gives a fallen node its NoExecute taint.
func (c *court) execute(node string) {
	c.setTaints(node, noSchedule(corev1.TaintNodeUnreachable), c.noExecute(corev1.TaintNodeUnreachable))
}

// failSlowly makes the client write to a node, and be told after some time that
// this has failed.
func (c *court) failSlowly(node string, after time.Duration) {
	slow, fail := c.world.SlowCalls(network.Span{Min: after, Max: after}), c.world.FailCalls(1, []int{500}, network.Patch)
	c.setTaints(node, noSchedule(corev1.TaintNodeUnreachable))
	slow()
	fail()
}

func (c *court) setPodCondition(pod string, kind corev1.PodConditionType, status, reason string) {
	c.call(&network.Call{
		Verb: network.Patch, Kind: network.Pods, Name: pod, PatchType: types.StrategicMergePatchType, Subresource: "status",
		Data: encode(c.t,
			map[string]any{
				"status": map[string]any{"conditions": []map[string]any{{"type": kind, "status": status, "reason": reason}}}}),
	})
}

func (c *court) markNotReady(pod string) { c.setPodCondition(pod, corev1.PodReady, "False", "") }

func (c *court) mark(pod string) {
	c.setPodCondition(pod, corev1.DisruptionTarget, "True", "DeletionByTaintManager")
}

// evict deletes a pod.
func (c *court) evict(pod string) *network.Call {
	uid := c.world.Pod(pod).UID
	return c.call(&network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod,
		Preconditions: &metav1.Preconditions{UID: &uid}})
}

// askToEvict asks for a pod's eviction.
func (c *court) askToEvict(pod string) *network.Call {
	uid := c.world.Pod(pod).UID
	return c.call(&network.Call{Verb: network.Evict, Kind: network.Pods, Name: pod,
		Preconditions: &metav1.Preconditions{UID: &uid}})
}

// podOn returns the pod on a node.
func (c *court) podOn(node string) string {
	pods := c.world.PodsOn(node)
	require.Len(c.t, pods, 1)
	return pods[0].Name
}

// recover lets a machine come back, and its node lose its taints.
func (c *court) recover(node string) {
	c.restore[node]()
	c.run(2 * time.Second)
	c.setTaints(node)
}

// found returns which invariants were violated, each once.
func (c *court) found() []judge.Invariant {
	var all []judge.Invariant
	for _, v := range c.judge.Violations() {
		if !slices.Contains(all, v.Invariant) {
			all = append(all, v.Invariant)
		}
	}
	return all
}

// clean wants that nothing was violated.
func (c *court) clean(why ...any) {
	c.t.Helper()
	require.Empty(c.t, c.judge.Violations(), why...)
}

// guilty wants that this was violated and nothing else.
func (c *court) guilty(of judge.Invariant, why ...any) {
	c.t.Helper()
	require.Equal(c.t, []judge.Invariant{of}, c.found(), "%v %v", why, c.judge.Violations())
}
