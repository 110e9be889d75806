package eviction_test

import (
	"errors"
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
		s.acts(eviction.Evicted, "evict")
		uid := types.UID("p")
		require.Equal(s, "p", s.calls[0].name)
		require.Equal(s, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}, s.calls[0].delete)
		require.NotNil(s, s.get("ns", "p").DeletionTimestamp)
	})
}

func TestE6ConfirmedEvictCarriesTheVersionThatItHasRead(t *testing.T) {
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		read, uid := s.get("ns", "p").ResourceVersion, types.UID("p")
		s.acts(eviction.Evicted, "get pod", "get node", "evict")
		require.Equal(s, &metav1.Preconditions{UID: &uid, ResourceVersion: &read}, s.calls[2].delete.Preconditions)
	})
}

// demand.md #126189: a PodDisruptionBudget is heeded. It keeps the pod for a while; the
// wait between the asking grows, no try is counted, and the pod leaves in the end.
func TestE5DisruptionBudgetIsWaitingAndNotFailing(t *testing.T) {
	config := eviction.Config{Retry: timedqueue.Backoff{First: time.Second, Max: 8 * time.Second}}
	play(t, sceneOptions{evict: true, config: config}, func(s *scene) {
		s.protected = func(*corev1.Pod) bool { return true }
		for _, seconds := range []int{1, 2, 4, 8, 8, 8} {
			report := s.acts(eviction.Blocked, "evict")
			require.Equal(s, eviction.CauseBudget, eviction.CauseOf(report.Err))
			require.Zero(s, report.Wait)
			require.Equal(s, time.Duration(seconds)*time.Second, s.fails(report))
			require.Zero(s, s.work.Tries)
			require.Nil(s, s.get("ns", "p").DeletionTimestamp)
		}
		require.Equal(s, time.Second, s.fails(eviction.Report{Outcome: eviction.Failed}), "a failure counts from the beginning")
		require.Equal(s, 1, s.work.Tries)
		require.Equal(s, time.Second, s.fails(s.acts(eviction.Blocked, "evict")), "and so does the waiting after it")
		require.Equal(s, 1, s.work.Tries)
		s.protected = nil
		s.acts(eviction.Evicted, "evict")
	})
}

// The API server has not yet looked at the budget, and says when to ask again.
func TestE5DisruptionBudgetThatSaysWhenToAskAgain(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		busy := budgetError()
		busy.ErrStatus.Details.RetryAfterSeconds = 10
		s.before = once("evict", func() error { return busy })
		require.Equal(s, 10*time.Second, s.fails(s.acts(eviction.Blocked, "evict")))
		require.Zero(s, s.work.Tries)
	})
}

// A 429 without that cause is about load, and a failure.
func TestE5LoadIsAFailureThatWaitsAsLongAsItIsAsked(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.before = once("evict", func() error { return apierrors.NewTooManyRequests("later", 7) })
		report := s.acts(eviction.Failed, "evict")
		require.Equal(s, eviction.CauseOverloaded, eviction.CauseOf(report.Err))
		require.Equal(s, 7*time.Second, s.fails(report))
		require.Equal(s, 1, s.work.Tries)
	})
}

func TestE5WhatTheAPIRefusesToEvictIsAFailureWithItsCause(t *testing.T) {
	for what, refusal := range apiErrors() {
		for _, confirm := range []bool{false, true} {
			if confirm && refusal.cause == eviction.CauseConflict {
				continue // it is looked at again at once
			}
			t.Run(what, func(t *testing.T) {
				play(t, sceneOptions{evict: true, confirm: confirm}, func(s *scene) {
					s.before = once("evict", func() error { return refusal.err })
					report := s.act(s.Context(), s.work)
					require.Equal(s, refusal.outcome, report.Outcome)
					require.ErrorIs(s, report.Err, refusal.err)
					require.ErrorContains(s, report.Err, "evict pod ns/p: ")
					require.Equal(s, refusal.cause, eviction.CauseOf(report.Err))
					require.Nil(s, s.get("ns", "p").DeletionTimestamp)
					require.Equal(s, eviction.Evicted, s.act(s.Context(), s.work).Outcome, "the next try")
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
				s.acts(eviction.AlreadyGone, test.verbs...)
				s.untouched(again)
			})
		})
	}
}

func TestE6PodThatChangesAfterItWasConfirmedIsNotEvicted(t *testing.T) {
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		s.before = once("evict", func() error { s.put(newPod("p", tolerates("a"))); return nil })
		s.acts(eviction.NotDue, "get pod", "get node", "evict", "get pod")
		require.Nil(s, s.get("ns", "p").DeletionTimestamp)
	})
}

func TestE5EvictOfAPodThatIsGoneIsAlreadyGone(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.remove("ns", "p")
		s.acts(eviction.AlreadyGone, "evict")
	})
	play(t, sceneOptions{evict: true, confirm: true}, func(s *scene) {
		s.put(newPod("p", terminating))
		s.acts(eviction.AlreadyGone, "get pod")
	})
}

// A mark that Delete has set before a restart, say, is taken back by Evict too.
func TestE6EvictTakesMarksBack(t *testing.T) {
	play(t, sceneOptions{evict: true, pod: newPod("p", marked, tolerates("a"))}, func(s *scene) {
		s.acts(eviction.Unmarked, "get pod", "patch")
		require.False(s, eviction.Marked(s.get("ns", "p")))
	})
}

// While pod and node were read the tracker has learned better.
func TestE6ConfirmedEvictionThatIsCalledOffMeanwhileWritesNothing(t *testing.T) {
	for _, evict := range []bool{false, true} {
		for _, pod := range []*corev1.Pod{newPod("p"), newPod("p", marked)} {
			play(t, sceneOptions{evict: evict, confirm: true, pod: pod}, func(s *scene) {
				s.before = once("get node", func() error {
					s.tracker.Hold(time.Now(), func(*corev1.Taint) bool { return true })
					return nil
				})
				s.acts(eviction.NotDue, "get pod", "get node")
				s.untouched(pod)
			})
		}
	}
}

// A 404 is the end of a pod only if it is about the pod. One from a proxy in front of
// the API server, of a webhook, or from a server that does not know the Eviction API is
// not: the pod would be lost.
func TestE5NotFoundThatIsNotAboutThePodIsAFailure(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: `admission webhook "guard.example.com" denied the request: no such owner`,
	}}
	for _, test := range []struct {
		err     error
		cause   eviction.Cause
		outcome eviction.Outcome
	}{
		{apierrors.NewGenericServerResponse(http.StatusNotFound, "DELETE", resource, "p", "404 page not found", 0, true), eviction.CauseOther, eviction.Failed},
		{webhook, eviction.CauseDenied, eviction.Failed},
		{apierrors.NewNotFound(resource, "p"), eviction.CauseOther, eviction.AlreadyGone},
	} {
		for _, options := range []struct {
			sceneOptions
			verb string
		}{
			{sceneOptions{}, "patch"},
			{sceneOptions{pod: newPod("p", marked)}, "delete"},
			{sceneOptions{evict: true}, "evict"},
			{sceneOptions{confirm: true}, "get pod"},
			{sceneOptions{pod: newPod("p", marked, tolerates("a"))}, "get pod"},
			{sceneOptions{pod: newPod("p", marked, tolerates("a"))}, "patch"},
		} {
			play(t, options.sceneOptions, func(s *scene) {
				s.before = once(options.verb, func() error { return test.err })
				report := s.act(s.Context(), s.work)
				require.Equal(s, test.outcome, report.Outcome, "%s: %v", options.verb, test.err)
				if test.outcome == eviction.Failed {
					require.Equal(s, test.cause, eviction.CauseOf(report.Err))
				}
			})
		}
	}
	play(t, sceneOptions{confirm: true}, func(s *scene) {
		nobody := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", schema.GroupResource{Resource: "nodes"}, "n1", "404 page not found", 0, true)
		s.before = once("get node", func() error { return nobody })
		s.acts(eviction.Failed, "get pod", "get node")
	})
	play(t, sceneOptions{}, func(s *scene) { // nor does it prove that the pod of a conflict is gone
		s.before = func(c call) error {
			if c.verb == "patch" {
				return apierrors.NewConflict(resource, "p", errors.New("modified"))
			}
			return apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", resource, "p", "404 page not found", 0, true)
		}
		s.acts(eviction.Failed, "patch", "get pod")
	})
}

func TestE7EvictIsChecked(t *testing.T) {
	_, err := eviction.NewEvict(eviction.EvictConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, "EvictConfig.Pods is nil")
	_, err = eviction.NewDelete(eviction.DeleteConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)

	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.work.At = time.Time{}
		require.ErrorContains(s, s.acts(eviction.Failed, []string{}...).Err, "work has no time")
	})
}
