package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/runner"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A runner that observes does nothing before it acts, tells of what it has
// done, and ends with its context.
func TestRunnerActsWhenToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		cluster := memory.NewCluster()
		client := cluster.NewClient()
		_, err := cluster.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ant"}},
			metav1.CreateOptions{})
		require.NoError(t, err)
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent"}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
		set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
		_, err = cluster.AppsV1().DaemonSets("shop").Create(ctx, set, metav1.CreateOptions{})
		require.NoError(t, err)

		performed := make(chan any, 100)
		var seen sync.Map // kinds of objects
		r, err := runner.NewRunner(runner.Config{
			Acting: client, Watching: client,
			See: func(object any) { seen.Store(fmt.Sprintf("%T", object), true) },
			Finished: func(_ context.Context, finished timedqueue.Finished) {
				task, result := finished.Task()
				if failing, is := result.(interface{ Failed() error }); is {
					assert.NoError(t, failing.Failed())
					performed <- task
				}
			},
		})
		require.NoError(t, err)
		ready, ended := make(chan struct{}), make(chan struct{}, 2)
		go func() { r.Observe(ctx, func() { close(ready) }); ended <- struct{}{} }()
		<-ready
		time.Sleep(time.Minute)
		require.Empty(t, performed)
		go func() { assert.NoError(t, r.Act(ctx)); ended <- struct{}{} }()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.IsType(t, controller.Revise{}, <-performed)
		r.View(func(c *controller.Controller) {
			for state := range c.Sets() {
				require.Equal(t, "managed", state.Phase)
				require.Equal(t, 1, state.Counts.Current)
			}
		})
		for _, kind := range []string{"*v1.Node", "*v1.DaemonSet", "*v1.Pod", "*v1.ControllerRevision"} {
			_, shown := seen.Load(kind)
			require.True(t, shown, kind)
		}
		stop()
		<-ended
		<-ended
	})
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := runner.NewRunner(runner.Config{Timeout: -1, Controller: controller.Config{Concurrency: -1}})
	require.ErrorIs(t, err, runner.ErrInvalidConfig)
	for _, field := range []string{"Acting", "Watching", "Timeout", "Concurrency"} {
		require.ErrorContains(t, err, field)
	}
}
