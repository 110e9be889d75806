package rollout_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
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
	for _, task := range []rollout.Task{{}, {Create: &creation}} {
		result := newExecutor(t, server).Act(t.Context(), agents(), task)
		require.Equal(t, rollout.OutcomeRefused, result.Outcome)
		require.ErrorIs(t, result.Err, rollout.ErrNoTask)
	}
	require.Empty(t, server.calls)
}

func TestD4ExecutorSaysWhatItLacks(t *testing.T) {
	_, err := rollout.NewExecutor(rollout.ExecutorConfig{Timeout: -time.Second})
	require.ErrorIs(t, err, rollout.ErrInvalidConfig)
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

// rewriting is an API server with a webhook that changes what pods say.
type rewriting struct {
	rollout.PodClient
	change func(*corev1.Pod)
}

func (r rewriting) Create(
	_ context.Context,
	pod *corev1.Pod,
	_ metav1.CreateOptions,
) (*corev1.Pod, error) {
	made := pod.DeepCopy()
	made.UID = "made"
	r.change(made)
	return made, nil
}

func (r rewriting) Delete(context.Context, string, metav1.DeleteOptions) error { return nil }

// A created pod that is not the owner's counts for no node. Without an error
// the next one would be made at once, without end, and none deleted.
func TestD4APodThatAWebhookHasTakenAwayIsAFailure(t *testing.T) {
	owner := agents()
	owner.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
	}
	for name, change := range map[string]func(*corev1.Pod){
		"controller": func(pod *corev1.Pod) { pod.OwnerReferences = nil },
		"label":      func(pod *corev1.Pod) { pod.Labels["app"] = "another" },
		"revision":   func(pod *corev1.Pod) { pod.Labels["controller-revision-hash"] = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			executor, err := rollout.NewExecutor(
				rollout.ExecutorConfig{Pods: func(string) rollout.PodClient { return rewriting{change: change} }},
			)
			require.NoError(t, err)
			planner, err := rollout.NewPlanner(rollout.Config{Spec: *specWith(template)}, start)
			require.NoError(t, err)
			made := 0
			for at := start; at.Before(start.Add(time.Minute)); at = at.Add(100 * time.Millisecond) {
				planner.ObserveNode(at, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
				results, _ := execute(t.Context(), executor, owner, planOf(planner, at))
				for _, result := range results {
					finish(planner, at, result)
					if result.Create != nil {
						made++
						require.ErrorIs(t, result.Err, rollout.ErrMutated)
					}
					if result.Pod != nil {
						planner.ForgetPod(at, result.Pod) // released, or deleted as outdated
					}
				}
			}
			require.Positive(t, made)
			require.LessOrEqual(t, made, 60)
		})
	}
}
