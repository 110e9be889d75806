package eviction_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A controller is what a caller composes: a tracker that is fed from the API
// server, and a dispatcher that drives it with a Deleter.
type controller struct {
	*testing.T
	*apiServer
	tracker    *eviction.Tracker
	dispatcher *timedqueue.Dispatcher
}

// newController does not run yet. Every change of a pod reaches it after a
// second, as from a watch that is slow.
func newController(t *testing.T, server *apiServer, workers int, confirm bool) *controller {
	t.Helper()
	c := &controller{T: t, apiServer: server}
	config := eviction.DeleterConfig{Pods: server.client}
	if confirm {
		config.Confirm = nodeClient{server}
	}
	deleter, err := eviction.NewDeleter(config)
	require.NoError(t, err)
	c.tracker, err = eviction.NewTracker(eviction.Config{}, time.Now())
	require.NoError(t, err)
	c.dispatcher, err = timedqueue.NewDispatcher(c.tracker, deleter.Act,
		timedqueue.DispatcherConfig{Workers: workers})
	require.NoError(t, err)
	for _, node := range server.nodes {
		c.tracker.ObserveNode(time.Now(), node)
	}
	for _, pod := range server.pods {
		c.tracker.ObservePod(time.Now(), pod)
	}
	c.tracker.MarkSynced()
	server.changed = func(pod *corev1.Pod) {
		time.AfterFunc(time.Second, func() {
			newest := server.get(pod.Namespace, pod.Name) // a watch goes back to no older version
			if newest == nil {
				return
			}
			c.dispatcher.Update(func() { c.tracker.ObservePod(time.Now(), newest) })
		})
	}
	return c
}

func (c *controller) taint(node *corev1.Node) {
	c.putNode(node)
	c.dispatcher.Update(func() { c.tracker.ObserveNode(time.Now(), node) })
}

// run runs the dispatcher for so long.
func (c *controller) run(duration time.Duration) {
	ctx, cancel := context.WithTimeout(c.Context(), duration)
	defer cancel()
	require.NoError(c, c.dispatcher.Run(ctx))
}

func (c *controller) counts() map[string]int {
	counts := map[string]int{}
	for _, verb := range c.verbs() {
		counts[verb]++
	}
	return counts
}

// demand.md #140639: a webhook denies the deletion for ten minutes. Upstream
// has given up after 50 ms. The pod leaves when it is let go, and once.
func TestE5EvictionThatIsDeniedForLongHappensOnceInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		server.put(newPod("p", tolerates("a:60")))
		server.putNode(newNode("n1"))
		begin := time.Now()
		var deletes []time.Duration
		server.before = func(c call) error {
			if c.verb != "delete" {
				return nil
			}
			deletes = append(deletes, time.Since(begin))
			if time.Since(begin) < 10*time.Minute {
				return apierrors.NewForbidden(podResource, "p", errors.New("a webhook said no"))
			}
			return nil
		}
		c := newController(t, server, 3, false)
		c.taint(newNode("n1", "a"))
		c.run(time.Hour)

		last := len(deletes) - 1
		require.Positive(t, last, "it is tried again")
		require.Equal(t, time.Minute, deletes[0], "not before its deadline")
		require.Less(t, deletes[last-1], 10*time.Minute)
		require.LessOrEqual(t, deletes[last], 11*time.Minute,
			"at the latest a minute after it was let go")
		for i := 1; i <= last; i++ {
			wait := deletes[i] - deletes[i-1]
			require.Equal(t, min(500*time.Millisecond<<(i-1), time.Minute), wait,
				"the wait grows, up to a minute")
		}
		require.NotNil(t, server.get("ns", "p").DeletionTimestamp)
		require.LessOrEqual(t, c.counts()["patch"], 2,
			"marked again at most until the watch has told of the mark")
		require.Zero(t, c.tracker.Waiting())
	})
}

// The taint goes while the deletion is denied. The pod stays.
func TestE6MootEvictionIsCanceled(t *testing.T) {
	for _, confirm := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newAPIServer()
			server.put(newPod("p"))
			server.putNode(newNode("n1"))
			server.before = func(c call) error {
				if c.verb == "delete" {
					return apierrors.NewForbidden(podResource, "p", errors.New("a webhook said no"))
				}
				return nil
			}
			c := newController(t, server, 1, confirm)
			c.taint(newNode("n1", "a"))
			c.run(5 * time.Minute)
			require.True(t, isDisrupted(server.get("ns", "p")))
			c.taint(newNode("n1"))
			c.run(time.Hour)
			require.Nil(t, server.get("ns", "p").DeletionTimestamp)
			require.Zero(t, c.tracker.Waiting())
			calls := len(c.verbs())
			c.run(time.Hour)
			require.Len(t, c.verbs(), calls, "nothing is left to do")
		})
	}
}

// demand.md #139992: the watch of nodes is an hour behind. What is read just
// before the deed counts, and nothing is lost when the watch tells of another
// taint.
func TestE6ConfirmationBridgesAWatchThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		server.put(newPod("p"))
		server.putNode(newNode("n1"))
		c := newController(t, server, 1, true)
		c.taint(newNode("n1", "a"))
		server.putNode(newNode("n1")) // removed, and we have not heard of it
		c.run(time.Hour - time.Second/2)
		counts := c.counts()
		require.Zero(t, counts["patch"]+counts["delete"], "%v", counts)
		require.LessOrEqual(t, counts["get pod"], 3600, "once a second at most")

		c.taint(newNode("n1", "b"))
		c.run(time.Minute)
		require.NotNil(t, server.get("ns", "p").DeletionTimestamp)
		require.Equal(t, []int{1, 1}, []int{c.counts()["patch"], c.counts()["delete"]})
	})
}

// A thousand pods of forty nodes are due at many times, and the API server
// fails now and then. Each pod that has to leave is deleted once, and not
// before its time.
func TestE4AThousandPodsAreEvictedOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		begin := time.Now()
		for n := range 40 {
			node := newNode(fmt.Sprintf("n%d", n))
			server.putNode(node)
			for p := range 25 {
				seconds := fmt.Sprintf("a:%d", 10*p)
				pod := newPod(fmt.Sprintf("p%d-%d", n, p), on(node.Name), tolerates(seconds))
				if p == 24 {
					pod.Spec.Tolerations[0].TolerationSeconds = nil
				}
				server.put(pod)
			}
		}
		deleted, calls, again := map[string]time.Duration{}, 0, []string(nil)
		server.before = func(c call) error {
			server.mu.Lock()
			defer server.mu.Unlock()
			if calls++; calls%7 == 0 {
				return apierrors.NewInternalError(errors.New("now and then"))
			}
			if c.verb == "delete" {
				if _, twice := deleted[c.name]; twice {
					again = append(again, c.name)
				}
				deleted[c.name] = time.Since(begin)
			}
			return nil
		}
		c := newController(t, server, 10, false)
		for n := range 40 {
			tainted := newNode(fmt.Sprintf("n%d", n), "a")
			tainted.Spec.Taints[0].TimeAdded = &metav1.Time{Time: begin.Truncate(time.Second)}
			c.taint(tainted)
		}
		c.run(10 * time.Minute)
		require.Len(t, deleted, 40*24)
		require.Empty(t, again, "deleted twice")
		for n := range 40 {
			for p := range 24 {
				after := deleted[fmt.Sprintf("p%d-%d", n, p)]
				require.GreaterOrEqual(t, after, time.Duration(10*p)*time.Second)
				require.LessOrEqual(t, after, time.Duration(10*p+60)*time.Second)
			}
		}
		require.Zero(t, c.tracker.Waiting())
	})
}

// demand.md, thundering herd: upstream starts a goroutine for each pod that is
// due. Here 100,000 that are due together are the workers' business, and no
// goroutine more than they and a few of the test's. Each is evicted, once.
func TestE8HerdIsNoMoreGoroutinesThanWorkers(t *testing.T) {
	const pods, workers, few = 100_000, 16, 4
	for name, config := range map[string]eviction.Config{
		"without budgets": {},
		"with budgets":    budgets(perNode(rate.Inf, 1), perNamespace(rate.Inf, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { herd(t, config, pods, workers, few) })
		})
	}
}

// herd evicts so many pods; each eviction takes a millisecond. Without waiting
// for a worker, all of them would sleep at once.
func herd(t *testing.T, config eviction.Config, pods, workers, few int) {
	tracker, err := eviction.NewTracker(config, at(0))
	require.NoError(t, err)
	fill(tracker, pods, 0)
	require.Equal(t, pods, tracker.Waiting())

	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	before := runtime.NumGoroutine()
	var mu sync.Mutex
	most, acted := 0, 0
	act := func(context.Context, eviction.Task) eviction.Result {
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		most = max(most, runtime.NumGoroutine())
		if acted++; acted == pods {
			cancel()
		}
		return eviction.Result{Outcome: eviction.OutcomeEvicted}
	}
	dispatcher, err := timedqueue.NewDispatcher(tracker, act,
		timedqueue.DispatcherConfig{Workers: workers})
	require.NoError(t, err)
	require.NoError(t, dispatcher.Run(ctx))
	require.Equal(t, pods, acted)
	require.Zero(t, tracker.Waiting())
	require.LessOrEqual(t, most, before+workers+few)
	t.Logf("%d goroutines before, %d at most", before, most)
}

const podsPerNode = 100

// nodeName is the name of the node that the pod of that number is on.
func nodeName(pod int) string { return fmt.Sprintf("node-%05d", pod/podsPerNode) }

// fill makes so many pods known that do not tolerate their nodes for more than
// that many seconds. It returns their UIDs, those of a node side by side.
func fill(tracker *eviction.Tracker, pods int, tolerated int64) []types.UID {
	uids := make([]types.UID, 0, pods)
	pod := newPod("p")
	pod.Spec.Tolerations = defaultTolerations()
	for i := range pod.Spec.Tolerations {
		pod.Spec.Tolerations[i].TolerationSeconds = &tolerated
	}
	for n := range pods / podsPerNode {
		node := newNode(nodeName(n*podsPerNode), fmt.Sprintf("UN@%d", n%300))
		tracker.ObserveNode(at(300), node)
		pod.Spec.NodeName = node.Name
		for p := range podsPerNode {
			pod.Namespace = fmt.Sprintf("namespace-%d", p%10)
			pod.Name = fmt.Sprintf("some-deployment-5d8f7c6b9-%02d", p)
			pod.UID = types.UID(fmt.Sprintf("c56a4180-65aa-42ec-a945-%012d", len(uids)))
			uids = append(uids, pod.UID)
			tracker.ObservePod(at(300), pod)
		}
	}
	tracker.MarkSynced()
	return uids
}
