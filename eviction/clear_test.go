package eviction_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// A marker is another client that sets the condition on its pods again, every
// five seconds, on each pod where it was cleared. Time goes on in steps of 100
// ms.
type marker struct {
	cluster
	now     float64
	pods    map[types.UID]*corev1.Pod // as they are marked
	cleared map[types.UID]bool        // and not marked again yet
	at      map[types.UID][]float64   // when each was cleared
	evicted map[types.UID]float64
	quiet   bool
}

func newMarker(c cluster, pods ...*corev1.Pod) *marker {
	m := &marker{
		cluster: c, pods: map[types.UID]*corev1.Pod{}, cleared: map[types.UID]bool{},
		at: map[types.UID][]float64{}, evicted: map[types.UID]float64{},
	}
	for _, pod := range pods {
		m.pods[pod.UID] = pod
		c.pod(0, pod)
	}
	return m
}

// until lets time pass, and does what the tracker hands out at once.
func (m *marker) until(seconds float64) {
	for ; m.now < seconds; m.now += 0.1 {
		if steps := int(m.now*10 + 0.5); steps%50 == 0 && !m.quiet {
			for uid := range m.cleared {
				m.pod(m.now, m.pods[uid])
			}
			clear(m.cleared)
		}
		m.drain()
	}
}

func (m *marker) drain() {
	for task, ok := m.Start(at(m.now)); ok; task, ok = m.Start(at(m.now)) {
		uid := task.Pod.UID
		if !task.ClearCondition {
			m.evicted[uid] = m.now
			m.finish(m.now, task, eviction.OutcomeEvicted)
			continue
		}
		m.at[uid] = append(m.at[uid], m.now)
		m.finish(m.now, task, eviction.OutcomeConditionCleared)
		if marked := m.pods[uid]; marked != nil {
			unmarked := marked.DeepCopy()
			unmarked.Status.Conditions = unmarked.Status.Conditions[:1]
			m.pod(m.now, unmarked)
			m.cleared[uid] = true
		}
	}
}

// clears counts the clears of some pods in a time.
func (m *marker) clears(from, to float64, of func(*corev1.Pod) bool) (n int) {
	for uid, times := range m.at {
		if pod := m.pods[uid]; pod == nil || !of(pod) {
			continue
		}
		for _, seconds := range times {
			if seconds >= from && seconds < to {
				n++
			}
		}
	}
	return n
}

func anyPod(*corev1.Pod) bool { return true }

// E11: a kubelet, or another client, sets the condition again on its 110 pods
// as often as it can. Evictions and other nodes do not notice.
func TestE11OneNodeDoesNotOccupyTheClearing(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 110 {
		pods = append(pods, newPod(fmt.Sprint("busy", i), on("busy"), marked))
	}
	m := newMarker(running(t), pods...)
	for n := range 5 {
		for i := range 10 {
			m.pod(0, newPod(fmt.Sprintf("due%d-%d", n, i), on(fmt.Sprint("sick", n))))
		}
	}
	for i := range 5 {
		m.pod(0, newPod(fmt.Sprint("calm", i), on("calm"), tolerates("a:600")))
	}
	m.until(60)
	require.LessOrEqual(t, m.clears(0, 60, anyPod), 10+60, "a burst, and one a second")
	require.Greater(t, m.clears(0, 60, anyPod), 60)

	for n := range 5 {
		m.node(60, fmt.Sprint("sick", n), "a@60")
	}
	m.drain()
	require.Len(t, m.evicted, 50)
	for uid, seconds := range m.evicted {
		require.InDelta(t, 60, seconds, 0.001, uid)
	}

	for i := range 5 {
		m.pod(120, newPod(fmt.Sprint("calm", i), on("calm"), marked))
	}
	m.until(121)
	for i := range 5 {
		require.NotEmpty(t, m.at[types.UID(fmt.Sprint("calm", i))], "it is cleared within a second")
	}
}

// E11: nor does the owner of pods that are on many nodes.
func TestE11OneNamespaceDoesNotOccupyTheClearing(t *testing.T) {
	var pods []*corev1.Pod
	for n := range 100 {
		for i := range 5 {
			pods = append(pods, newPod(fmt.Sprintf("busy%d-%d", n, i), on(fmt.Sprint("node", n)),
				inNamespace("busy"), marked))
		}
	}
	m := newMarker(running(t), pods...)
	m.until(60)
	require.LessOrEqual(t, m.clears(0, 60, anyPod), 100+10*60, "a burst, and ten a second")
	for n := range 100 {
		name := fmt.Sprint("calm", n)
		m.pod(60, newPod(name, on(fmt.Sprint("node", n)), inNamespace("calm"), marked))
	}
	m.until(61)
	for n := range 100 {
		require.NotEmpty(t, m.at[types.UID(fmt.Sprint("calm", n))], "it is cleared within a second")
	}
}

// E11: each pod waits longer each time, and that is forgotten when it was left
// alone for twice the longest wait.
func TestE11EachClearOfAPodWaitsLonger(t *testing.T) {
	m := newMarker(running(t), newPod("p", marked))
	m.until(600)
	times := m.at["p"]
	var waits []float64
	for i := 1; i < len(times); i++ {
		waits = append(waits, times[i]-times[i-1])
	}
	require.InDeltaSlice(t, []float64{5, 5, 5, 5, 8, 16, 32, 60, 60, 60, 60, 60}, waits[:12], 0.2,
		"the condition is set again within 5 s; the waits are 0.5 s, 1 s, 2 s and so on up to a minute")

	m.quiet = true
	m.until(900)
	m.quiet = false
	before := len(m.at["p"])
	m.until(912)
	again := m.at["p"][before:]
	require.GreaterOrEqual(t, len(again), 2, "it does not wait for a minute")
}

// E11: a clear that fails waits longer each time, too.
func TestE11FailedClearsWaitLonger(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.OutcomeFailed, eviction.OutcomeBlocked,
		eviction.OutcomeNotDue} {
		c := running(t, newPod("p", marked))
		task, now := c.start(1, "-p")[0], 1.0
		for _, wait := range []float64{0.5, 1, 2, 4, 8, 16, 32, 60, 60} {
			c.finish(now, task, outcome)
			now += wait
			task = c.startOne(now, "-p")
		}
	}
}

// A dry run of a clear that says so does not spin.
func TestE11DryRunOfAClearIsReportedOnce(t *testing.T) {
	c := running(t, newPod("p", marked))
	c.finish(1, c.start(1, "-p")[0], eviction.OutcomeDryRun)
	c.idle(1e6)
}

// A pod that waits for its condition to be cleared becomes due, and a budget
// holds it. Its condition is true, and stays.
func TestE11ConditionOfAPodThatIsDueIsNotCleared(t *testing.T) {
	c := runningWith(t, budgets(overall(0, 1)), newPod("p", marked, tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.start(100)
	_, ok := c.Next(at(100))
	require.False(t, ok, "only a change makes a difference")
	require.Equal(t, 1, c.Waiting())
	c.SetLimit(at(200), "overall", "", 1)
	require.True(t, c.start(200, "p")[0].HasDisruptionTarget)
}

// Pods wait for their clear when their deadlines come, and a budget holds all
// of them. Start goes through them in parts, and ends.
func TestE11ManyPodsBecomeDueWhileTheirConditionWaits(t *testing.T) {
	const pods = 2500
	c := runningWith(t, budgets(overall(0, 1)))
	for i := range pods {
		c.pod(0, newPod(fmt.Sprint("p", i), inNamespace(fmt.Sprint("ns", i/50)),
			on(fmt.Sprint("n", i/10)), marked, tolerates("a:60")))
	}
	for n := range pods / 10 {
		c.node(10, fmt.Sprint("n", n), "a@10")
	}
	starts := 0
	for next, ok := c.Next(at(100)); ok; next, ok = c.Next(at(100)) {
		require.False(t, next.After(at(100)))
		_, started := c.Start(at(100))
		require.False(t, started)
		starts++
	}
	require.Equal(t, pods/1000+1, starts)
	require.Equal(t, pods, c.Waiting())
}

// E12: no answer of a server makes a pod wait for longer than the longest wait.
func TestE12NoAnswerParksAPod(t *testing.T) {
	const age = 68 * 365 * 24 * time.Hour
	for _, outcome := range []eviction.Outcome{
		eviction.OutcomeFailed, eviction.OutcomeBlocked, eviction.OutcomeNotDue, "",
	} {
		for _, clears := range []bool{false, true} {
			c := running(t, newPod("p", marked, tolerates("b")))
			task := c.handOut(clears)
			c.Finish(at(10), task, eviction.Result{Outcome: outcome, RetryAfter: age})
			next, ok := c.Next(at(10))
			require.True(t, ok)
			require.LessOrEqual(t, next.Sub(at(10)), time.Minute, "%s, clears=%v", outcome, clears)
			require.Greater(t, next.Sub(at(10)), 30*time.Second, "it is as long as it may be")
		}
	}
}

// handOut hands out the one pod, to be evicted or for its condition to be
// cleared.
func (c cluster) handOut(clears bool) eviction.Task {
	c.Helper()
	if clears {
		return c.start(10, "-p")[0]
	}
	c.node(10, "n1", "a@10")
	return c.start(10, "p")[0]
}

// A success that asks to wait does not park the pod either.
func TestE12NoSuccessfulClearParksAPod(t *testing.T) {
	c := running(t, newPod("p", marked))
	c.Finish(at(10), c.start(10, "-p")[0], eviction.Result{Outcome: eviction.OutcomeConditionCleared,
		RetryAfter: 1000 * time.Hour})
	c.pod(11, newPod("p", marked))
	c.start(11, "-p")
}

// What failed to clear the condition says nothing about the eviction: its
// attempts and its backoff begin with its own first failure.
func TestE11FailedClearsAreNoFailuresOfTheEviction(t *testing.T) {
	c := running(t, newPod("p", marked))
	task, now := c.start(1, "-p")[0], 1.0
	for i, wait := range []float64{0.5, 1, 2, 4, 8} {
		require.Equal(t, i, task.Attempts)
		c.finish(now, task, eviction.OutcomeFailed)
		now += wait
		task = c.startOne(now, "-p")
	}
	c.finish(now, task, eviction.OutcomeFailed)
	c.node(20, "n1", "a@20")
	task = c.start(20, "p")[0]
	require.Zero(t, task.Attempts)
	c.finish(20, task, eviction.OutcomeFailed)
	require.Equal(t, 1, c.startOne(20.5, "p").Attempts)
}

// Nor do failures of an eviction count for clearing its condition, or for the
// next eviction.
func TestE11FailedEvictionsAreNoFailuresOfTheClear(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	failed := eviction.Result{Err: errors.New("denied"), Pod: newPod("p", marked)}
	c.Finish(at(10), c.start(10, "p")[0], failed)
	c.Finish(at(12), c.startOne(12, "p"), failed)
	c.node(13, "n1")
	for p := range c.PodsOn("n1") {
		require.NoError(t, p.Err, "the eviction is moot")
		require.Zero(t, p.Attempts)
	}
	task := c.start(13, "-p")[0]
	require.Zero(t, task.Attempts)
	c.finish(13, task, eviction.OutcomeFailed)
	c.node(14, "n1", "a@14")
	require.Zero(t, c.start(14, "p")[0].Attempts)
}

// A pod that becomes due during its clear is not said to stay.
func TestE11ClearThatIsOvertakenWritesNothing(t *testing.T) {
	pod := newPod("p", marked, tolerates("a"))
	play(t, sceneOptions{pod: pod}, func(s *scene) {
		require.True(s, s.work.ClearCondition)
		s.before = once("get pod", func() error {
			require.True(s, s.tracker.EvictPod(time.Now(), "p", "", time.Time{}))
			return nil
		})
		result := s.acts(eviction.OutcomeNotDue, "get pod")
		s.untouched(pod)
		s.tracker.Finish(time.Now(), s.work, result)
		s.next()
		s.acts(eviction.OutcomeEvicted, "delete")
	})
}

// Thousands of pods are put where they wait for a budget. A condition is not
// cleared before the one behind them, which is due and has a token, has left.
func TestE11DueEvictionsComeFirstAlsoWhenThereAreMany(t *testing.T) {
	const held = 12_000
	c := runningWith(t, budgets(perNode(1, 1)), newPod("marked", on("n2"), marked))
	c.SetSlice(2 * held) // all are decided in one turn, so in their order
	for i := range held {
		c.pod(0, newPod(fmt.Sprint("p", i)))
	}
	c.node(10, "n1", "a@10")
	c.pod(11, newPod("free", on("n3")))
	c.node(11, "n3", "a@11")
	var got []string
	for range 100 {
		if task, ok := c.Start(at(11)); ok {
			got = append(got, task.Pod.Name)
		}
	}
	require.Equal(t, []string{"p0", "free", "marked"}, got)
}

// A pod with a condition to be cleared that is due by now, and that a budget
// holds, says so.
func TestE10PendingSaysWhatHoldsAMarkedPod(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 30 {
		pods = append(pods, newPod(fmt.Sprint("p", i), marked, tolerates("a:1")))
	}
	c := runningWith(t, budgets(overall(0, 1)), pods...)
	c.node(10, "n1", "a@9")
	for range 10 { // the node's share of clears
		_, ok := c.Start(at(10.5))
		require.True(t, ok)
	}
	c.start(10.5)
	c.start(11)
	count := 0
	for p := range c.Pending() {
		if !p.Acting {
			count++
			require.Equal(t, "overall", p.Budget, p.Pod)
			require.Equal(t, at(11), p.NextAttempt, p.Pod)
		}
	}
	require.Equal(t, 20, count)
}
