package eviction_test

import (
	"errors"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

func TestE7EvictIsOneCallThatCarriesTheUID(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.acts(eviction.OutcomeEvicted, "evict")
		uid := types.UID("p")
		require.Equal(s, "p", s.calls[0].name)
		require.Equal(s, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
			s.calls[0].delete)
		require.NotNil(s, s.get("ns", "p").DeletionTimestamp)
	})
}

func TestE6ConfirmedEvictCarriesTheVersionThatItHasRead(t *testing.T) {
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		read, uid := s.get("ns", "p").ResourceVersion, types.UID("p")
		s.acts(eviction.OutcomeEvicted, "get pod", "get node", "evict")
		require.Equal(s, &metav1.Preconditions{UID: &uid, ResourceVersion: &read},
			s.calls[2].delete.Preconditions)
	})
}

// demand.md #126189: a PodDisruptionBudget is heeded. It keeps the pod for a
// while; the wait between the asking grows, no try is counted, and the pod
// leaves in the end.
func TestE5DisruptionBudgetIsWaitingAndNotFailing(t *testing.T) {
	config := eviction.Config{Backoff: timedqueue.Backoff{Initial: time.Second, Max: 8 * time.Second}}
	play(t, sceneOptions{evict: true, config: config}, func(s *scene) {
		s.protected = func(*corev1.Pod) bool { return true }
		for _, seconds := range []int{1, 2, 4, 8, 8, 8} {
			result := s.acts(eviction.OutcomeBlocked, "evict")
			require.Equal(s, "Budget", eviction.CauseOf(result.Err))
			require.Zero(s, result.RetryAfter)
			require.Equal(s, time.Duration(seconds)*time.Second, s.fails(result))
			require.Zero(s, s.work.Attempts)
			require.Nil(s, s.get("ns", "p").DeletionTimestamp)
		}
		require.Equal(s, time.Second, s.fails(eviction.Result{Outcome: eviction.OutcomeFailed}),
			"a failure counts from the beginning")
		require.Equal(s, 1, s.work.Attempts)
		require.Equal(s, time.Second, s.fails(s.acts(eviction.OutcomeBlocked, "evict")),
			"and so does the waiting after it")
		require.Equal(s, 1, s.work.Attempts)
		s.protected = nil
		s.acts(eviction.OutcomeEvicted, "evict")
	})
}

// The budget is still being processed, and the API server says when to ask
// again.
func TestE5DisruptionBudgetThatSaysWhenToAskAgain(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		busy := budgetError()
		busy.ErrStatus.Details.RetryAfterSeconds = 10
		s.before = once("evict", func() error { return busy })
		require.Equal(s, 10*time.Second, s.fails(s.acts(eviction.OutcomeBlocked, "evict")))
		require.Zero(s, s.work.Attempts)
	})
}

// A 429 without that cause is about load, and a failure.
func TestE5LoadIsAFailureThatWaitsAsLongAsItIsAsked(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.before = once("evict", func() error { return apierrors.NewTooManyRequests("later", 7) })
		result := s.acts(eviction.OutcomeFailed, "evict")
		require.Equal(s, "Overloaded", eviction.CauseOf(result.Err))
		require.Equal(s, 7*time.Second, s.fails(result))
		require.Equal(s, 1, s.work.Attempts)
	})
}

func TestE5WhatTheAPIRefusesToEvictIsAFailureWithItsCause(t *testing.T) {
	for what, refusal := range apiErrors() {
		for _, confirm := range []bool{false, true} {
			if confirm && refusal.cause == "Conflict" {
				continue // it is attempted again at once
			}
			t.Run(what, func(t *testing.T) {
				play(t, sceneOptions{evict: true, confirm: confirm}, func(s *scene) {
					s.before = once("evict", func() error { return refusal.err })
					result := s.act(s.Context(), s.work)
					require.Equal(s, refusal.outcome, result.Outcome)
					require.ErrorIs(s, result.Err, refusal.err)
					require.ErrorContains(s, result.Err, "evict pod ns/p: ")
					require.Equal(s, refusal.cause, eviction.CauseOf(result.Err))
					require.Nil(s, s.get("ns", "p").DeletionTimestamp)
					require.Equal(s, eviction.OutcomeEvicted, s.act(s.Context(), s.work).Outcome, "the next try")
				})
			})
		}
	}
}

// demand.md, wrong pod (Karpenter PR #998): the same for evictions.
func TestE4RecreatedPodIsNeverEvicted(t *testing.T) {
	again := newPod("p", withUID("new"))
	for name, test := range map[string]struct {
		confirm bool
		verb    string
		verbs   []string
	}{
		"at once":                {false, "evict", []string{"evict", "get pod"}},
		"before it is confirmed": {true, "get pod", []string{"get pod"}},
		"before its node":        {true, "get node", []string{"get pod", "get node", "evict", "get pod"}},
		"after it was confirmed": {true, "evict", []string{"get pod", "get node", "evict", "get pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, sceneOptions{evict: true, confirm: test.confirm}, func(s *scene) {
				s.before = once(test.verb, func() error { s.put(again); return nil })
				s.acts(eviction.OutcomeGone, test.verbs...)
				s.untouched(again)
			})
		})
	}
}

func TestE6PodThatChangesAfterItWasConfirmedIsNotEvicted(t *testing.T) {
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		s.before = once("evict", func() error { s.put(newPod("p", tolerates("a"))); return nil })
		s.acts(eviction.OutcomeNotDue, "get pod", "get node", "evict", "get pod")
		require.Nil(s, s.get("ns", "p").DeletionTimestamp)
	})
}

func TestE5EvictOfAPodThatIsGoneIsGone(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.remove("ns", "p")
		s.acts(eviction.OutcomeGone, "evict")
	})
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		s.put(newPod("p", terminating))
		s.acts(eviction.OutcomeGone, "get pod")
	})
}

// While pod and node were read the tracker has learned better.
func TestE6ConfirmedEvictionThatIsCanceledMeanwhileWritesNothing(t *testing.T) {
	for _, evict := range []bool{false, true} {
		for _, pod := range []*corev1.Pod{newPod("p"), newPod("p", marked)} {
			play(t, sceneOptions{evict: evict, confirm: true, pod: pod}, func(s *scene) {
				s.before = once("get node", func() error {
					s.tracker.SetHold(time.Now(), "all", "", true)
					return nil
				})
				s.acts(eviction.OutcomeNotDue, "get pod", "get node")
				s.untouched(pod)
			})
		}
	}
}

// A 404 ends the eviction of a pod only if it is about the pod. One from a
// proxy, a webhook, or a server without the Eviction API is a failure. Else the
// pod would be lost.
func TestE5NotFoundThatIsNotAboutThePodIsAFailure(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: `admission webhook "guard.example.com" denied the request: no such owner`,
	}}
	for _, test := range []struct {
		err     error
		cause   string
		outcome eviction.Outcome
	}{
		{apierrors.NewGenericServerResponse(http.StatusNotFound, "DELETE", resource, "p",
			"404 page not found", 0, true), "Other", eviction.OutcomeFailed},
		{webhook, "Denied", eviction.OutcomeFailed},
		{apierrors.NewNotFound(resource, "p"), "Other", eviction.OutcomeGone},
	} {
		for _, options := range []struct {
			sceneOptions
			verb string
		}{
			{sceneOptions{}, "patch"},
			{sceneOptions{pod: newPod("p", marked)}, "delete"},
			{sceneOptions{evict: true}, "evict"},
			{sceneOptions{confirm: true}, "get pod"},
		} {
			play(t, options.sceneOptions, func(s *scene) {
				s.before = once(options.verb, func() error { return test.err })
				result := s.act(s.Context(), s.work)
				require.Equal(s, test.outcome, result.Outcome, "%s: %v", options.verb, test.err)
				if test.outcome == eviction.OutcomeFailed {
					require.Equal(s, test.cause, eviction.CauseOf(result.Err))
				}
			})
		}
	}
	play(t, sceneOptions{confirm: true}, func(s *scene) {
		missing := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET",
			schema.GroupResource{Resource: "nodes"}, "n1", "404 page not found", 0, true)
		s.before = once("get node", func() error { return missing })
		s.acts(eviction.OutcomeFailed, "get pod", "get node")
	})
	play(t, sceneOptions{}, func(s *scene) { // nor does it prove that the pod of a conflict is gone
		s.before = func(c call) error {
			if c.verb == "patch" {
				return apierrors.NewConflict(resource, "p", errors.New("modified"))
			}
			return apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", resource, "p",
				"404 page not found", 0, true)
		}
		s.acts(eviction.OutcomeFailed, "patch", "get pod")
	})
}

func TestE7EvictIsChecked(t *testing.T) {
	_, err := eviction.NewEvictor(eviction.EvictorConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, "EvictorConfig.Pods is nil")
	_, err = eviction.NewDeleter(eviction.DeleterConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
}

// E12: a Retry-After of the API server may be wrong by any amount. It makes a
// pod wait no longer than the longest wait.
func TestE12NoRetryAfterOfAServerParksAPod(t *testing.T) {
	load := apierrors.NewTooManyRequests("later", math.MaxInt32)
	busy := budgetError()
	busy.ErrStatus.Details.RetryAfterSeconds = math.MaxInt32
	for name, test := range map[string]struct {
		options sceneOptions
		verb    string
		err     error
		outcome eviction.Outcome
	}{
		"delete": {sceneOptions{pod: newPod("p", marked)}, "delete", load,
			eviction.OutcomeFailed},
		"mark":    {sceneOptions{}, "patch", load, eviction.OutcomeFailed},
		"evict":   {sceneOptions{evict: true}, "evict", load, eviction.OutcomeFailed},
		"refused": {sceneOptions{evict: true}, "evict", busy, eviction.OutcomeBlocked},
		"confirm": {sceneOptions{confirm: true}, "get node", load, eviction.OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.config.Backoff = timedqueue.Backoff{Initial: time.Second, Max: 20 * time.Second}
			play(t, test.options, func(s *scene) {
				s.before = once(test.verb, func() error { return test.err })
				result := s.act(s.Context(), s.work)
				require.Equal(s, test.outcome, result.Outcome, "%v", result.Err)
				require.Equal(s, math.MaxInt32*time.Second, result.RetryAfter)
				require.Equal(s, 20*time.Second, s.fails(result))
			})
		})
	}
}
