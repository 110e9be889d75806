package daemon_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
)

func TestD4PlansAreCarriedOutConcurrently(t *testing.T) {
	server := newPodServer()
	executor := newExecutor(t, server)
	spec, plan := *specWith(everything()), creations(50)
	names := make([][]string, 4)
	var executions sync.WaitGroup
	for i := range names {
		executions.Go(func() {
			results, err := execute(t.Context(), executor, agents(), planned(spec, plan))
			if err != nil {
				t.Error(err)
				return
			}
			for _, result := range results {
				names[i] = append(names[i], result.Pod.Name+" "+string(result.Pod.UID))
			}
		})
	}
	executions.Wait()
	require.Equal(t, 50, server.made, "two processes that carry out the same plan make no pod twice")
	for i := range names {
		require.Len(t, names[i], 50)
		require.Equal(t, names[0], names[i])
		require.True(
			t,
			slices.ContainsFunc(names[i], func(name string) bool { return name[:7] == "agents-" }),
		)
	}
}

func TestD4APanicOfTheClientIsNotRecovered(t *testing.T) {
	server := newPodServer()
	server.before = func(context.Context, string, string) error { panic("broken client") }
	require.PanicsWithValue(t, "broken client", func() {
		_, _ = execute(
			t.Context(),
			newExecutor(t, server),
			agents(),
			planned(*specWith(everything()), creations(1)),
		)
	})
}

// Q11: what says nothing to do is refused, and asks the API server nothing.
func TestQ11ATaskWithoutAStepIsRefused(t *testing.T) {
	server := newPodServer()
	creation := creationOn("node-0")
	for _, task := range []daemon.Task{{}, {Create: &creation}} {
		result := newExecutor(t, server).Act(t.Context(), agents(), task)
		require.Equal(t, daemon.OutcomeRefused, result.Outcome)
		require.ErrorIs(t, result.Err, daemon.ErrNoTask)
	}
	require.Empty(t, server.calls)
}

func TestD4ExecutorSaysWhatItLacks(t *testing.T) {
	_, err := daemon.NewExecutor(daemon.ExecutorConfig{Timeout: -time.Second})
	require.ErrorIs(t, err, daemon.ErrInvalidConfig)
	for _, complaint := range []string{"Pods is nil", "Timeout is -1s, want zero or more"} {
		require.ErrorContains(t, err, complaint)
	}
	server := newPodServer()
	results, err := execute(t.Context(), newExecutor(t, server), ownership.Owner{}, mixedPlan())
	require.ErrorContains(t, err, "the owner has no Object")
	require.Empty(t, server.calls)
	for _, result := range results {
		require.Error(t, result.Err)
		require.True(t, result.Refused)
	}
}

// A refusal is an answer that says that nothing was done. Without one the
// planner holds the place of the pod.
func TestD4RefusalsAreToldFromLostAnswers(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		err     error
		refused bool
	}{
		{apierrors.NewForbidden(pods, "x", errors.New("exceeded quota")), true},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), true},
		{apierrors.NewTooManyRequests("later", 1), true},
		{apierrors.NewConflict(pods, "x", errors.New("another UID")), true},
		{apierrors.NewBadRequest("webhook says no"), true},
		{apierrors.NewTimeoutError("webhook is slow", 1), false},
		{apierrors.NewServerTimeout(pods, "create", 1), false},
		{apierrors.NewInternalError(errors.New("etcd has lost its leader")), false},
		{apierrors.NewServiceUnavailable("starting"), false},
		{context.DeadlineExceeded, false},
		{errors.New("connection reset by peer"), false},
	} {
		server := newPodServer()
		server.before = func(context.Context, string, string) error { return test.err }
		results, err := execute(
			t.Context(),
			newExecutor(t, server),
			agents(),
			planned(*specWith(everything()), mixedPlan()),
		)
		require.ErrorIs(t, err, test.err)
		for _, result := range results {
			if result.Refresh == nil {
				require.Equal(t, test.refused, result.Refused, "%v: %v", test.err, result)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, _ := execute(
		ctx,
		newExecutor(t, newPodServer()),
		agents(),
		planned(*specWith(everything()), creations(1)),
	)
	require.True(t, results[0].Refused, "it was not tried")
}
