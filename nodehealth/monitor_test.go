package nodehealth_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

var _ timedqueue.Core[nodehealth.NodeTask, nodehealth.Result] = (*nodehealth.NodeMonitor)(nil)

const (
	monitorGrace = 50 * time.Second // the defaults
	startupGrace = 60 * time.Second
)

var (
	resultDone   = nodehealth.Result{Outcome: nodehealth.OutcomeDone}
	resultAlive  = nodehealth.Result{Outcome: nodehealth.OutcomeAlive}
	resultFailed = nodehealth.Result{Outcome: nodehealth.OutcomeFailed}
)

// observer is a monitor with a test's clock.
type observer struct {
	*nodehealth.NodeMonitor
	now time.Time
}

var observerEpoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// newObserver returns an observer whose first lists are in, and were empty.
func newObserver(t testing.TB, config nodehealth.Config) *observer {
	t.Helper()
	m, err := nodehealth.NewNodeMonitor(config, observerEpoch)
	require.NoError(t, err)
	m.MarkSynced()
	return &observer{m, observerEpoch}
}

func (o *observer) pass(d time.Duration)                              { o.now = o.now.Add(d) }
func (o *observer) sees(node *corev1.Node)                            { o.ObserveNode(o.now, node) }
func (o *observer) seesLease(l *coordinationv1.Lease)                 { o.ObserveLease(o.now, l) }
func (o *observer) finish(s nodehealth.NodeTask, r nodehealth.Result) { o.Finish(o.now, s, r) }

// start hands out the next silent node. Nodes that are alive again are recorded
// as such at once.
func (o *observer) start() (nodehealth.NodeTask, bool) {
	for {
		task, ok := o.Start(o.now)
		if !ok || task.State == nodehealth.StateSilent {
			return task, ok
		}
		o.finish(task, resultDone)
	}
}

// quiet fails when a silent node is handed out now.
func (o *observer) quiet(t testing.TB, why ...any) {
	t.Helper()
	silent, ok := o.start()
	require.False(t, ok, "%s was handed out. %s", silent.Key, fmt.Sprint(why...))
}

// silent starts the next node, which has to be name.
func (o *observer) silent(t testing.TB, name string) nodehealth.NodeTask {
	t.Helper()
	silent, ok := o.start()
	require.True(t, ok, "nothing is handed out at %v", o.now.Sub(observerEpoch))
	require.Equal(t, name, silent.Key)
	return silent
}

// silentExactly moves to a time and makes sure that name is handed out then,
// and not a nanosecond earlier.
func (o *observer) silentExactly(t testing.TB, at time.Time, name string) nodehealth.NodeTask {
	t.Helper()
	require.False(t, at.Before(o.now), "%v has passed", at.Sub(observerEpoch))
	if o.now.Before(at) {
		o.now = at.Add(-1)
		o.quiet(t, "Too early.")
		next, ok := o.Next(o.now)
		require.True(t, ok)
		require.False(t, next.After(at), "the next poll is %v too late", next.Sub(at))
	}
	o.now = at
	return o.silent(t, name)
}

// lastBeat is when a node was heard last.
func (o *observer) lastBeat(t testing.TB, name string) time.Time {
	t.Helper()
	at, ok := o.LastHeartbeat(name)
	require.True(t, ok, "%s is not known", name)
	return at
}

// bareNode is a node that has never reported.
func bareNode(name, uid string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

// reportingNode is a node whose kubelet has reported at a time of its own
// clock.
func reportingNode(name, uid string, heartbeat time.Time) *corev1.Node {
	node := bareNode(name, uid)
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
	} {
		c.LastHeartbeatTime = metav1.NewTime(heartbeat)
		node.Status.Conditions = append(node.Status.Conditions, c)
	}
	return node
}

// unknownNode is a node that an observer has declared.
func unknownNode(name, uid, reason string, heartbeat time.Time) *corev1.Node {
	node := reportingNode(name, uid, heartbeat)
	ready := &node.Status.Conditions[4]
	ready.Status, ready.Reason = corev1.ConditionUnknown, reason
	return node
}

func renewedLease(name string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &name, RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
}

func TestH2StartupGraceUntilTheNodeFirstReports(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(bareNode("a", "1"))
	silent := o.silentExactly(t, observerEpoch.Add(startupGrace), "a")
	require.Equal(t, types.UID("1"), silent.UID)
	require.Equal(t, observerEpoch, silent.Since)
	require.Equal(t, startupGrace, silent.GracePeriod)
}

// Leases alone keep a node alive that has never reported, each for a startup
// grace: so does upstream.
func TestH2LeasesOfANodeThatNeverReportedGiveStartupGrace(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(bareNode("a", "1"))
	for range 20 {
		o.pass(10 * time.Second)
		o.seesLease(renewedLease("a", o.now))
		o.quiet(t)
	}
	silent := o.silentExactly(t, o.now.Add(startupGrace), "a")
	require.Equal(t, startupGrace, silent.GracePeriod)
}

func TestH2MonitorGraceOnceTheNodeHasReported(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(reportingNode("a", "1", o.now))
	silent := o.silentExactly(t, observerEpoch.Add(monitorGrace), "a")
	require.Equal(t, monitorGrace, silent.GracePeriod)
}

// The first report makes the grace period shorter. The expiry that was set for
// the longer one must not stand in the way.
func TestH2TheFirstReportEndsTheStartupGrace(t *testing.T) {
	for _, startup := range []time.Duration{10 * time.Second, startupGrace, time.Hour} {
		o := newObserver(t, nodehealth.Config{StartupGracePeriod: startup})
		o.sees(bareNode("a", "1"))
		o.pass(5 * time.Second)
		o.sees(reportingNode("a", "1", o.now))
		silent := o.silentExactly(t, o.now.Add(monitorGrace), "a")
		require.Equal(t, monitorGrace, silent.GracePeriod, "startup grace %v", startup)
	}
}

func TestH2TheGracePeriodsAreTheCallers(t *testing.T) {
	o := newObserver(
		t, nodehealth.Config{GracePeriod: 3 * time.Second, StartupGracePeriod: 7 * time.Second},
	)
	o.sees(bareNode("new", "1"))
	o.sees(reportingNode("old", "2", o.now))
	o.silentExactly(t, observerEpoch.Add(3*time.Second), "old")
	o.silentExactly(t, observerEpoch.Add(7*time.Second), "new")
}

func TestH2AGracePeriodMayBeForever(t *testing.T) {
	o := newObserver(
		t, nodehealth.Config{GracePeriod: math.MaxInt64, StartupGracePeriod: math.MaxInt64},
	)
	o.sees(bareNode("new", "1"))
	o.pass(time.Minute)
	o.sees(reportingNode("old", "2", o.now))
	o.pass(100 * 365 * 24 * time.Hour)
	o.quiet(t)
}

// The edge sleeps until Next. A node that beats then costs one poll in a grace
// period, and one that stops is found when its grace period ends.
func TestH3SilenceIsFoundExactlyWhenGraceEnds(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	const nodes, stops = 20, 7
	for i := range nodes {
		o.sees(reportingNode(fmt.Sprint("n", i), fmt.Sprint(i), o.now))
	}
	var lastBeat time.Time
	polls := 0
	end := o.now.Add(10 * time.Minute)
	for beat := o.now; beat.Before(end); beat = beat.Add(10 * time.Second) {
		for { // sleep as long as there is nothing to do before the next beat
			next, ok := o.Next(o.now)
			require.True(t, ok)
			if next.After(beat) {
				break
			}
			o.now = next
			polls++
			silent, ok := o.Start(o.now)
			if !ok {
				continue
			}
			require.Equal(t, fmt.Sprint("n", stops), silent.Key, "the others beat")
			require.Equal(t, lastBeat.Add(monitorGrace), o.now)
			o.finish(silent, resultDone)
			lastBeat = time.Time{}
		}
		o.now = beat
		for i := range nodes {
			if i != stops || beat.Before(observerEpoch.Add(2*time.Minute)) {
				o.seesLease(renewedLease(fmt.Sprint("n", i), beat))
			}
		}
		if beat.Before(observerEpoch.Add(2 * time.Minute)) {
			lastBeat = beat
		}
	}
	require.Zero(t, lastBeat, "the node that stopped was not found")
	require.Less(
		t, polls, int(10*time.Minute/monitorGrace)+8,
		"all beat together: a poll a grace period, and those for the one",
	)
}

func TestH3ObservingAKnownNodeAllocatesNothing(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	nodes := []*corev1.Node{
		reportingNode("a", "1", observerEpoch), reportingNode("a", "1", observerEpoch.Add(time.Second)),
	}
	leases := []*coordinationv1.Lease{
		renewedLease("a", observerEpoch), renewedLease("a", observerEpoch.Add(time.Second)),
	}
	o.sees(nodes[0])
	o.seesLease(leases[0])
	beat := func(observe func(i int)) func() {
		i := 0
		return func() {
			i++
			o.pass(time.Second)
			observe(i % 2)
			if at, _ := o.LastHeartbeat("a"); !at.Equal(o.now) {
				t.Fatal("no beat: nothing is proven")
			}
		}
	}
	require.Zero(t, testing.AllocsPerRun(1000, beat(func(i int) { o.sees(nodes[i]) })), "ObserveNode")
	require.Zero(
		t, testing.AllocsPerRun(1000, beat(func(i int) { o.seesLease(leases[i]) })), "ObserveLease",
	)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		o.pass(time.Second)
		o.sees(nodes[0])
		o.seesLease(leases[0])
		if silent, ok := o.Start(o.now); ok {
			o.finish(silent, resultAlive)
		}
	}), "nothing new, and a declaration now and then")
}

func TestInvalidMonitorConfigIsRefused(t *testing.T) {
	for _, c := range []struct {
		config nodehealth.Config
		want   []string
	}{
		{nodehealth.Config{GracePeriod: -1}, []string{"Config.GracePeriod is -1ns"}},
		{nodehealth.Config{StartupGracePeriod: -1}, []string{"Config.StartupGracePeriod is -1ns"}},
		{nodehealth.Config{RecoveryPeriod: -1}, []string{"Config.RecoveryPeriod is -1ns"}},
		{nodehealth.Config{Retry: timedqueue.Backoff{Initial: -1}}, []string{"Config.Retry"}},
		{nodehealth.Config{Retry: timedqueue.Backoff{Initial: 2, Max: 1}}, []string{"Config.Retry"}},
		{
			nodehealth.Config{GracePeriod: -1, StartupGracePeriod: -2, Retry: timedqueue.Backoff{Max: -3}},
			[]string{"GracePeriod is -1ns", "StartupGracePeriod is -2ns", "Max is -3ns"},
		},
	} {
		_, err := nodehealth.NewNodeMonitor(c.config, observerEpoch)
		require.ErrorIs(t, err, nodehealth.ErrInvalidConfig)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
		require.ErrorIs(t, c.config.Validate(), nodehealth.ErrInvalidConfig)
	}
	require.NoError(t, nodehealth.Config{}.Validate())
	_, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, time.Time{})
	require.ErrorIs(t, err, nodehealth.ErrInvalidConfig)
	require.ErrorContains(t, err, "now is zero")
}
