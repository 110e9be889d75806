package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A cluster is client-go's fake one, which evicts.
type cluster struct {
	*fake.Clientset
	refuse func(name string) error // what a PodDisruptionBudget says

	mu      sync.Mutex
	evicted []string
	uids    []types.UID
	at      []time.Time
}

func newCluster(objects ...runtime.Object) *cluster {
	c := &cluster{
		Clientset: fake.NewClientset(objects...), refuse: func(string) error { return nil },
	}
	c.PrependReactor("create", "pods", c.evict)
	return c
}

func (c *cluster) evict(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "eviction" {
		return false, nil, nil
	}
	asked := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
	if err := c.refuse(asked.Name); err != nil {
		return true, nil, err
	}
	c.mu.Lock()
	c.evicted = append(c.evicted, asked.Name)
	c.uids = append(c.uids, *asked.DeleteOptions.Preconditions.UID)
	c.at = append(c.at, time.Now())
	c.mu.Unlock()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	return true, nil, c.Tracker().Delete(pods, asked.Namespace, asked.Name)
}

func (c *cluster) gone() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.evicted...)
}

func nodeOf(name string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}

func podOn(node, name string, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name + "-uid")},
		Spec:       corev1.PodSpec{NodeName: node, Tolerations: tolerations},
	}
}

var maintenance = corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}

// run runs a controller until the test ends, and returns it and what ends it.
func run(
	t *testing.T, config Config, client kubernetes.Interface,
) (c *Controller, end func() error) {
	t.Helper()
	config.Client = client
	running, err := NewController(config)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	time.Sleep(time.Second) // client-go checks its lists ten times a second
	return running, func() error {
		stop()
		return <-ended
	}
}

// E1: pods leave by the Eviction API, by their UIDs, when they have to, and at
// the rate of a budget.
func TestE1RunEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		forAMinute := corev1.Toleration{
			Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](60),
		}
		api := newCluster(nodeOf("a", maintenance), nodeOf("b"),
			podOn("a", "first"), podOn("a", "second"), podOn("a", "patient", forAMinute), podOn("b", "safe"))
		_, end := run(t, Config{Tracker: eviction.Config{Budgets: []eviction.Budget{{
			Name: "node", ByNode: func(node *corev1.Node) string { return node.Name }, Limit: 0.1,
		}}}}, api)
		require.Len(t, api.gone(), 1)
		time.Sleep(8 * time.Second)
		require.Len(t, api.gone(), 1, "one in ten seconds")
		time.Sleep(2 * time.Second)
		require.ElementsMatch(t, []string{"first", "second"}, api.gone())
		time.Sleep(time.Minute)
		require.Len(t, api.gone(), 3)
		require.Equal(t, "patient", api.gone()[2])
		require.WithinDuration(t, began.Add(time.Minute), api.at[2], 2*time.Second)
		require.Equal(t, types.UID("patient-uid"), api.uids[2])

		// A pod that comes later, and a node that is tainted later.
		tainted := nodeOf("b", maintenance)
		_, err := api.CoreV1().Nodes().Update(t.Context(), tainted, metav1.UpdateOptions{})
		require.NoError(t, err)
		_, err = api.CoreV1().Pods("shop").Create(t.Context(), podOn("a", "late"), metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.ElementsMatch(t, []string{"late", "safe"}, api.gone()[3:])
		require.NoError(t, end())
	})
}

// E3: what a PodDisruptionBudget refuses is asked for again, and evicted once.
func TestE3RefusedEvictionIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a", maintenance), podOn("a", "web"))
		allowed := time.Now().Add(time.Minute)
		api.refuse = func(string) error {
			if time.Now().Before(allowed) {
				refusal := apierrors.NewTooManyRequests("the budget is used up", 10)
				refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				return refusal
			}
			return nil
		}
		c, end := run(t, Config{}, api)
		require.Empty(t, api.gone())
		c.View(func(tracker *eviction.Tracker) { require.Equal(t, 1, tracker.Waiting()) })
		time.Sleep(3 * time.Minute)
		require.Equal(t, []string{"web"}, api.gone())
		require.NoError(t, end())
	})
}

// deleting makes an action that deletes pods.
func deleting(client kubernetes.Interface) (eviction.Action, error) {
	deleter, err := eviction.NewDeleter(eviction.DeleterConfig{
		Pods: func(namespace string) eviction.PodClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return nil, err
	}
	return deleter.Act, nil
}

// What no taint asks for is asked for by Update, and Action says how.
func TestUpdateAndAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a"), podOn("a", "web"))
		c, end := run(t, Config{
			Action: deleting,
		}, api)
		c.Update(func(tracker *eviction.Tracker, now time.Time) {
			tracker.EvictNode(now, "a", eviction.NodeRequest{Reason: "the machine goes"})
		})
		time.Sleep(time.Second)
		_, err := api.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.Empty(t, api.gone(), "it was deleted, not evicted")
		require.NoError(t, end())
	})
}

// D2: nothing is evicted before the first lists are complete, and Run returns
// also then.
func TestD2NothingBeforeTheLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a", maintenance), podOn("a", "web"))
		api.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no nodes yet")
		})
		_, end := run(t, Config{}, api)
		time.Sleep(10 * time.Minute)
		require.Empty(t, api.gone())
		require.NoError(t, end())
	})
}

// A report from before the condition arrives after it. A tracker that believed
// it would write the condition again.
func TestOlderReportDoesNotHideTheCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a", maintenance), podOn("a", "web"))
		before, err := api.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		before.ResourceVersion = "1"
		api.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			marked := before.DeepCopy()
			marked.ResourceVersion = "2"
			marked.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
			}}
			return true, marked, nil
		})
		api.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("deletions are forbidden")
		})
		c, err := NewController(Config{Client: api, Action: deleting})
		require.NoError(t, err)
		c.informer.podsOf.OnAdd(before, true)
		tracker := c.tracker
		tracker.ObserveNode(time.Now(), nodeOf("a", maintenance))
		tracker.MarkSynced()

		task, ok := tracker.Start(time.Now())
		require.True(t, ok)
		result := c.evict(t.Context(), task)
		require.NotNil(t, result.Pod, "its condition was set, and it could not be deleted")
		tracker.Finish(time.Now(), task, result)
		c.informer.podsOf.OnUpdate(before, before)
		time.Sleep(10 * time.Minute)
		next, ok := tracker.Start(time.Now())
		require.True(t, ok && next.HasDisruptionTarget)
	})
}

// An action that panics ends Run with an error, and all goroutines with it.
func TestPanicEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a", maintenance), podOn("a", "web"))
		c, err := NewController(Config{
			Client: api,
			Action: func(kubernetes.Interface) (eviction.Action, error) {
				return func(context.Context, eviction.Task) eviction.Result { panic("a bug") }, nil
			},
		})
		require.NoError(t, err)
		require.ErrorIs(t, c.Run(t.Context()), timedqueue.ErrPanic)
	})
}

// An attempt that hangs ends after the timeout, and others go on meanwhile.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(nodeOf("a", maintenance), podOn("a", "hangs"), podOn("a", "web"))
		var attempts sync.Map
		_, end := run(t, Config{
			Timeout: 5 * time.Second,
			Action: func(kubernetes.Interface) (eviction.Action, error) {
				return func(ctx context.Context, task eviction.Task) eviction.Result {
					attempts.Store(task.Pod.Name, true)
					if task.Pod.Name == "web" {
						return eviction.Result{Outcome: eviction.OutcomeEvicted}
					}
					began := time.Now()
					<-ctx.Done()
					require.Equal(t, 5*time.Second, time.Since(began))
					return eviction.Result{Outcome: eviction.OutcomeFailed, Err: ctx.Err()}
				}, nil
			},
		}, api)
		_, tried := attempts.Load("web")
		require.True(t, tried)
		time.Sleep(time.Minute)
		require.NoError(t, end())
	})
}

// E5: the client of a Controller leaves a Retry-After to the tracker.
func TestE5ClientSleepsForNoRetryAfter(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client, err := newClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.EqualValues(t, 1, requests.Load())
}

func TestConfigsAreChecked(t *testing.T) {
	_, err := NewController(Config{
		Workers: -1, Timeout: -1, Tracker: eviction.Config{Holds: []eviction.Hold{{}}},
	})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	for _, want := range []string{"Cluster and Client are nil", "Workers is -1", "Timeout is -1ns", "Name of a hold is empty"} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewController(Config{Cluster: &rest.Config{}, Client: fake.NewClientset()})
	require.ErrorContains(t, err, "Cluster and Client are set, want one of them")
	_, err = NewController(Config{Cluster: &rest.Config{Host: "http://[::1"}})
	require.ErrorContains(t, err, "set up a client")
	_, err = NewController(Config{
		Cluster: &rest.Config{Host: "localhost"},
		Action: func(kubernetes.Interface) (eviction.Action, error) {
			return nil, errors.New("no action")
		},
	})
	require.ErrorContains(t, err, "no action")
	_, err = NewInformer(InformerConfig{})
	require.Equal(t, 3, strings.Count(err.Error(), ErrInvalidConfig.Error()))
}
