package eviction_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

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
	dispatcher, err := timedqueue.NewDispatcher(tracker, act, timedqueue.DispatcherConfig{Workers: workers})
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
