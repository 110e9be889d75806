package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/runner"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A runner that observes writes nothing before it acts, tells of what it has
// done, and ends with its context.
func TestARunnerActsWhenToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		cluster := memory.NewCluster()
		_, err := cluster.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "ant"}, Spec: corev1.NodeSpec{Unschedulable: true},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		performed := make(chan any, 100)
		var passed, seen atomic.Int32
		r, err := runner.NewRunner(runner.Config{
			Client: cluster.NewClient(),
			See:    func(any) { seen.Add(1) },
			Passed: func(time.Duration) { passed.Add(1) },
			Finished: func(_ context.Context, finished timedqueue.Finished) {
				task, _ := finished.Task()
				performed <- task
			},
		})
		require.NoError(t, err)
		ready, ended := make(chan struct{}), make(chan error, 3)
		go func() {
			r.Observe(ctx, func() { close(ready) })
			ended <- nil
		}()
		<-ready
		idle, act := context.WithCancel(ctx)
		go func() {
			r.Idle(idle)
			ended <- nil
		}()
		time.Sleep(time.Minute)
		require.Empty(t, performed)
		require.NotZero(t, seen.Load())
		act()
		go func() { ended <- r.Act(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 12, passed.Load(), "one look in five seconds")
		change := controller.NodeChange{}
		for len(performed) > 0 {
			if found, is := (<-performed).(controller.NodeChange); is {
				change = found
			}
		}
		require.Equal(t, "ant", change.Node.Name)
		require.Equal(t, corev1.TaintNodeUnschedulable, change.Taints[0].Key)
		stop()
		for range 3 {
			require.NoError(t, <-ended)
		}
	})
}

// Without leader election a lease of its own shows whether the API server takes
// writes, unless all silence counts.
func TestRunWritesALeaseUnlessAllSilenceCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, all := range []bool{false, true} {
			cluster := memory.NewCluster()
			r, err := runner.NewRunner(runner.Config{
				Client: cluster.NewClient(), CountAllSilence: all, Probe: types.NamespacedName{Name: "mine"},
			})
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			require.NoError(t, r.Run(ctx))
			stop()
			_, err = cluster.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), "mine", metav1.GetOptions{})
			require.Equal(t, all, apierrors.IsNotFound(err), "%v", err)
			r.View(func(c *controller.Controller) {
				_, blind := c.Blind(time.Now())
				require.False(t, blind, "no node is heard, and the API server answers")
			})
		}
	})
}

// A sight that ends between two questions would never come back.
func TestRunRefusesASightThatItCannotKeep(t *testing.T) {
	r, err := runner.NewRunner(runner.Config{
		Client:     memory.NewCluster().NewClient(),
		Controller: controller.Config{Health: nodehealth.Config{SightTimeout: time.Second}},
	})
	require.NoError(t, err, "a leader may ask more often")
	require.ErrorIs(t, r.Run(t.Context()), runner.ErrInvalidConfig)
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := runner.NewRunner(runner.Config{
		Controller:      controller.Config{PodEvictionTimeout: -1, Health: nodehealth.Config{SightTimeout: time.Second}},
		CountAllSilence: true,
		Acting:          &runner.Clients{}, Workers: -1, Timeout: -1, Period: -1,
	})
	require.ErrorIs(t, err, runner.ErrInvalidConfig)
	for _, field := range []string{
		"Cluster and Client are nil", "CountAllSilence", "Acting", "Workers", "Timeout", "Period", "PodEvictionTimeout",
	} {
		require.ErrorContains(t, err, field)
	}
	client := memory.NewCluster().NewClient()
	_, err = runner.NewRunner(runner.Config{Client: client, Cluster: &rest.Config{}})
	require.ErrorContains(t, err, "Cluster and Client are set")
	refused := errors.New("no action")
	_, err = runner.NewRunner(runner.Config{
		Client: client, Evict: func(runner.Clients) (eviction.Action, error) { return nil, refused },
	})
	require.ErrorIs(t, err, refused)
	_, err = runner.NewRunner(runner.Config{Cluster: &rest.Config{Host: "http://127.0.0.1:1"}})
	require.NoError(t, err, "it sends nothing yet")
}
