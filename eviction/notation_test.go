package eviction_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	notReady    = corev1.TaintNodeNotReady
	unreachable = corev1.TaintNodeUnreachable
)

// at is a time in seconds after some epoch, which is a whole second.
func at(seconds float64) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func stamp(seconds float64) *metav1.Time {
	t := metav1.NewTime(at(seconds))
	return &t
}

// taintList reads taints written as key=value:Effect@seconds, where all but the
// key may be missing; the effect is NoExecute then. NR and UN stand for the
// not-ready and unreachable taints.
func taintList(specs ...string) []corev1.Taint {
	var out []corev1.Taint
	for _, spec := range specs {
		rest, since, timed := strings.Cut(spec, "@")
		rest, effect, _ := strings.Cut(rest, ":")
		key, value, _ := strings.Cut(rest, "=")
		taint := corev1.Taint{Key: longKey(key), Value: value, Effect: corev1.TaintEffectNoExecute}
		if effect != "" {
			taint.Effect = corev1.TaintEffect(effect)
		}
		if timed {
			taint.TimeAdded = stamp(number(since))
		}
		out = append(out, taint)
	}
	return out
}

// tolerationList reads tolerations written as key=value:seconds. Without a
// value the operator is Exists, without seconds it lasts for ever, and the key
// * is any.
func tolerationList(specs ...string) []corev1.Toleration {
	var out []corev1.Toleration
	for _, spec := range specs {
		rest, seconds, limited := strings.Cut(spec, ":")
		key, value, equal := strings.Cut(rest, "=")
		toleration := corev1.Toleration{Key: longKey(key), Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute}
		if key == "*" {
			toleration.Key = ""
		}
		if equal {
			toleration.Operator, toleration.Value = corev1.TolerationOpEqual, value
		}
		if limited {
			n, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil {
				panic(err)
			}
			toleration.TolerationSeconds = &n
		}
		out = append(out, toleration)
	}
	return out
}

func longKey(key string) string {
	switch key {
	case "NR":
		return notReady
	case "UN":
		return unreachable
	}
	return key
}

func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func newNode(name string, taints ...string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid")},
		Spec:       corev1.NodeSpec{Taints: taintList(taints...)},
	}
}

type podOption func(*corev1.Pod)

// newPod is a pod on node n1, bound long ago. Its UID is its name.
func newPod(name string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: 7},
		Spec:       corev1.PodSpec{NodeName: "n1"},
	}
	bound(-100_000)(pod)
	for _, option := range options {
		option(pod)
	}
	return pod
}

func on(node string) podOption { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func withUID(uid types.UID) podOption { return func(p *corev1.Pod) { p.UID = uid } }

func tolerates(specs ...string) podOption {
	return func(p *corev1.Pod) { p.Spec.Tolerations = tolerationList(specs...) }
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = stamp(0) }

func unbound(p *corev1.Pod) { p.Status.Conditions = nil }

// bound says when the pod was bound to its node.
func bound(seconds float64) podOption {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: *stamp(seconds),
		}}
	}
}

// marked gives the pod the condition that Delete sets.
func marked(p *corev1.Pod) { disrupted(corev1.ConditionTrue, "DeletionByTaintManager")(p) }

func disrupted(status corev1.ConditionStatus, reason string) podOption {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: status, Reason: reason,
		})
	}
}

// someHolds are those of the trackers of the tests: of everything, of the taints
// of lifecycle, of the taint a, and of what callers ask for.
var someHolds = []eviction.Hold{
	{Name: "all"},
	{Name: "ours", Taints: taints.OwnsNoExecute},
	{Name: "a", Taints: func(taint *corev1.Taint) bool { return taint.Key == "a" }},
	{Name: "requests", Taints: func(*corev1.Taint) bool { return false }, Requests: true},
}

// A cluster is a tracker and the test that watches it.
type cluster struct {
	*testing.T
	*eviction.Tracker
	tasks map[string]eviction.Task  // what start has handed out last, by name
	pods  map[types.UID]*corev1.Pod // as observed last
}

// startUp is a tracker that has not been told yet that all has been observed.
func startUp(t *testing.T, seconds float64) cluster {
	t.Helper()
	return startUpWith(t, seconds, eviction.Config{})
}

func startUpWith(t *testing.T, seconds float64, config eviction.Config) cluster {
	t.Helper()
	config.Holds = someHolds
	tracker, err := eviction.NewTracker(config, at(seconds))
	require.NoError(t, err)
	return cluster{t, tracker, map[string]eviction.Task{}, map[types.UID]*corev1.Pod{}}
}

// running is a tracker that knows, since time 0, the untainted nodes n1 and n2
// and the given pods.
func running(t *testing.T, pods ...*corev1.Pod) cluster {
	t.Helper()
	return runningWith(t, eviction.Config{}, pods...)
}

func runningWith(t *testing.T, config eviction.Config, pods ...*corev1.Pod) cluster {
	t.Helper()
	c := startUpWith(t, 0, config)
	c.node(0, "n1")
	c.node(0, "n2")
	for _, pod := range pods {
		c.pod(0, pod)
	}
	c.MarkSynced()
	return c
}

// twoSeconds makes every failed attempt wait as long.
var twoSeconds = eviction.Config{Backoff: timedqueue.Backoff{Initial: 2 * time.Second,
	Max: 2 * time.Second}}

func (c cluster) node(seconds float64, name string, taints ...string) {
	c.ObserveNode(at(seconds), newNode(name, taints...))
}

func (c cluster) pod(seconds float64, pod *corev1.Pod) {
	c.pods[pod.UID] = pod
	c.ObservePod(at(seconds), pod)
}

// hold begins or ends one of someHolds, everywhere.
func (c cluster) hold(seconds float64, name string, held bool) {
	c.Helper()
	require.True(c, c.SetHold(at(seconds), name, "", held))
}

// holdOn is hold on one node.
func (c cluster) holdOn(seconds float64, name, node string, held bool) {
	c.Helper()
	require.True(c, c.SetHold(at(seconds), name, node, held))
}

// leavesAt checks when the pod with that UID is said to leave.
func (c cluster) leavesAt(uid types.UID, seconds float64) {
	c.Helper()
	decision, known := c.Decision(uid)
	require.True(c, known)
	require.True(c, decision.Leaves(), "decision is %v", decision.Reason)
	require.Equal(c, seconds, decision.Due.Sub(at(0)).Seconds(), "seconds")
}

// stays checks that the pod need not leave, and why.
func (c cluster) stays(uid types.UID, why eviction.Reason) {
	c.Helper()
	decision, known := c.Decision(uid)
	require.True(c, known)
	require.Equal(c, why, decision.Reason)
	require.False(c, decision.Leaves())
	require.Zero(c, decision.Due)
	require.Nil(c, decision.Toleration)
}

// start checks that exactly these pods are handed out at that time, in that
// order.
func (c cluster) start(seconds float64, want ...string) []eviction.Task {
	c.Helper()
	var tasks []eviction.Task
	got := []string{}
	for {
		task, ok := c.Start(at(seconds))
		if !ok {
			break
		}
		name := task.Pod.Name
		tasks, got = append(tasks, task), append(got, name)
		c.tasks[task.Pod.Name] = task
		require.LessOrEqual(c, len(got), len(want)+10, "no end: %v", got)
	}
	require.Equal(c, append([]string{}, want...), got, "handed out at %v", seconds)
	return tasks
}

// work is what start has handed out last for the pod with that name.
func (c cluster) work(name string) eviction.Task {
	c.Helper()
	require.Contains(c, c.tasks, name)
	return c.tasks[name]
}

// startOne is start for one pod, which must not be handed out any earlier.
func (c cluster) startOne(seconds float64, want string) eviction.Task {
	c.Helper()
	next, ok := c.Next(at(seconds - 1e-6))
	require.True(c, ok)
	require.Equal(c, seconds, next.Sub(at(0)).Seconds(), "next, in seconds")
	c.start(seconds - 1e-6)
	return c.start(seconds, want)[0]
}

// finish ends a task. If a pod is evicted the watch shows at once that it is
// terminating.
func (c cluster) finish(seconds float64, task eviction.Task, outcome eviction.Outcome) {
	c.Finish(at(seconds), task, eviction.Result{Outcome: outcome})
	pod, known := c.pods[task.Pod.UID]
	decision, _ := c.Decision(task.Pod.UID)
	evicted := outcome == eviction.OutcomeEvicted || outcome == eviction.OutcomeGone
	if known && evicted && decision.Reason == eviction.ReasonGone {
		leaving := pod.DeepCopy()
		terminating(leaving)
		c.pod(seconds, leaving)
	}
}

// idle checks that nothing is waiting for any time.
func (c cluster) idle(seconds float64) {
	c.Helper()
	c.start(seconds)
	next, ok := c.Next(at(seconds))
	require.False(c, ok, "next is %v", next)
	require.Zero(c, c.Waiting())
}

func (c cluster) String() string {
	nodes, pods := c.Len()
	return fmt.Sprintf("%d nodes, %d pods, %d pending", nodes, pods, c.Waiting())
}
