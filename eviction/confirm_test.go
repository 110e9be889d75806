package eviction_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// demand.md #119862, #139992: the taint was removed and the pod bound, while
// the cache still had the taint.
func TestE6ConfirmedMootEvictionWritesNothing(t *testing.T) {
	again := newNode("n1", "a") // has this taint too, set again
	again.UID = "another"
	for name, test := range map[string]struct {
		change  func(s *scene)
		outcome eviction.Outcome
		verbs   []string
	}{
		"the taint is gone": {
			func(s *scene) { s.putNode(newNode("n1", "a:NoSchedule")) },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"another taint has replaced it": {
			func(s *scene) { s.putNode(newNode("n1", "b")) },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"the toleration is longer": {
			func(s *scene) { s.put(newPod("p", tolerates("a:61", "b"))) },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"the toleration is endless": {
			func(s *scene) { s.put(newPod("p", tolerates("a"))) },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"the node is gone": {
			func(s *scene) { delete(s.nodes, "n1") },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"the node was recreated": {
			func(s *scene) { s.putNode(again) },
			eviction.OutcomeNotDue, []string{"get pod", "get node"},
		},
		"the pod is gone": {
			func(s *scene) { s.remove("ns", "p") },
			eviction.OutcomeGone, []string{"get pod"},
		},
		"the pod was recreated": {
			func(s *scene) { s.put(newPod("p", withUID("new"))) },
			eviction.OutcomeGone, []string{"get pod"},
		},
		"the pod is terminating": {
			func(s *scene) { s.put(newPod("p", terminating)) },
			eviction.OutcomeGone, []string{"get pod"},
		},
		"pod and node are gone": {
			func(s *scene) { s.remove("ns", "p"); delete(s.nodes, "n1") },
			eviction.OutcomeGone, []string{"get pod"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, sceneOptions{confirm: true, pod: newPod("p", tolerates("a:60", "b"))}, func(s *scene) {
				test.change(s)
				before := s.get("ns", "p")
				s.acts(test.outcome, test.verbs...)
				require.Equal(s, before, s.get("ns", "p"))
			})
		})
	}
}

// Without Confirm the cache is believed. That is the caller's choice. What is
// skipped is counted by its reason.
func TestE6ConfirmedMootEvictionSaysWhy(t *testing.T) {
	for reason, change := range map[eviction.Reason]func(s *scene){
		eviction.ReasonNoTaints:       func(s *scene) { s.putNode(newNode("n1")) },
		eviction.ReasonTolerated:      func(s *scene) { s.put(newPod("p", tolerates("a", "b"))) },
		eviction.ReasonTolerationEnds: func(s *scene) { s.put(newPod("p", tolerates("a:61", "b"))) },
		eviction.ReasonGone:           func(s *scene) { delete(s.nodes, "n1") },
		"": func(s *scene) {
			s.before = once("get node", func() error { s.tracker.ForgetNode(time.Now(), "n1"); return nil })
		},
	} {
		t.Run(string(reason), func(t *testing.T) {
			play(t, sceneOptions{confirm: true, pod: newPod("p", tolerates("a:60", "b"))}, func(s *scene) {
				change(s)
				require.Equal(s, reason, s.acts(eviction.OutcomeNotDue, "get pod", "get node").Reason)
			})
		})
	}
}

func TestE6UnconfirmedEvictionReadsNothing(t *testing.T) {
	play(t, sceneOptions{}, func(s *scene) {
		s.putNode(newNode("n1"))
		s.acts(eviction.OutcomeEvicted, "patch", "delete")
	})
}

func TestE6ConfirmedEvictionCarriesTheVersionThatItHasRead(t *testing.T) {
	play(t, sceneOptions{confirm: true}, func(s *scene) {
		s.acts(eviction.OutcomeEvicted, "get pod", "get node", "patch", "delete")
		require.Equal(s, "n1", s.calls[1].name)
		require.NotContains(s, s.calls[2].patch, "resourceVersion", "its answer is decided on")
		require.Contains(s, s.calls[2].patch, `"uid":"p"`)
		uid, answered := types.UID("p"), "102" // the version that the patch has made
		require.Equal(s, &metav1.Preconditions{UID: &uid, ResourceVersion: &answered},
			s.calls[3].delete.Preconditions)
	})
}

func TestE6ConfirmedEvictionOfAMarkedPodCarriesTheVersionThatItHasRead(t *testing.T) {
	play(t, sceneOptions{confirm: true, pod: newPod("p", marked)}, func(s *scene) {
		read := s.get("ns", "p").ResourceVersion
		s.acts(eviction.OutcomeEvicted, "get pod", "get node", "delete")
		uid := types.UID("p")
		require.Equal(s, &metav1.Preconditions{UID: &uid, ResourceVersion: &read},
			s.calls[2].delete.Preconditions)
	})
}

// Another client lengthens the toleration between the confirmation and the
// write. The pod is not deleted, and is decided again.
func TestE6PodThatChangesAfterItWasConfirmedIsNotDeleted(t *testing.T) {
	for _, test := range []struct {
		verb string
		pod  *corev1.Pod
	}{
		{"get node", newPod("p", tolerates("a:60"))},
		{"patch", newPod("p", tolerates("a:60"))},
		{"delete", newPod("p", tolerates("a:60"))},
		{"get node", newPod("p", marked)},
		{"delete", newPod("p", marked)},
	} {
		t.Run(fmt.Sprintf("before %s, marked=%v", test.verb, isDisrupted(test.pod)),
			func(t *testing.T) {
				play(t, sceneOptions{confirm: true, pod: test.pod}, func(s *scene) {
					s.before = once(test.verb, func() error {
						saved := s.get("ns", "p")
						saved.Spec.Tolerations = tolerationList("a")
						s.put(saved)
						return nil
					})
					result := s.delete.Act(s.Context(), s.work)
					require.Equal(s, eviction.OutcomeNotDue, result.Outcome, "%v", result.Err)
					require.Nil(s, s.get("ns", "p").DeletionTimestamp)
					require.Equal(s, isDisrupted(s.get("ns", "p")), isDisrupted(test.pod) ||
						result.Pod != nil && isDisrupted(result.Pod), "so that it is not written again")
				})
			})
	}
}

// Found by the scenario "patched" of examples/e2e/evictions: a client writes to
// the pod all the time, for example a sidecar's status. What was confirmed has
// always changed. The eviction is decided again at once, not after a growing
// wait.
func TestE6ConfirmedEvictionOfAPodThatChangesAllTheTime(t *testing.T) {
	for _, evict := range []bool{false, true} {
		for _, writes := range []int{1, 4, 5} {
			t.Run(fmt.Sprintf("evict=%v, writes=%d", evict, writes), func(t *testing.T) {
				play(t, sceneOptions{confirm: true, evict: evict}, func(s *scene) {
					left := writes
					s.before = func(c call) error {
						if (c.verb == "delete" || c.verb == "evict") && left > 0 {
							left--
							busy := s.get("ns", "p")
							busy.Labels = map[string]string{"beat": fmt.Sprint(left)}
							s.put(busy)
						}
						return nil
					}
					result := s.act(s.Context(), s.work)
					if writes > 4 {
						require.Equal(s, eviction.OutcomeFailed, result.Outcome, "others have their turn")
						require.Equal(s, "Conflict", eviction.CauseOf(result.Err))
						return
					}
					require.Equal(s, eviction.OutcomeEvicted, result.Outcome, "%v", result.Err)
				})
			})
		}
	}
}

// The mark names the taint for which the pod leaves, and whether it is there
// already is what the API server says, not the cache.
func TestE6ConfirmedEvictionActsOnWhatItHasRead(t *testing.T) {
	play(t, sceneOptions{confirm: true, pod: newPod("p", marked)}, func(s *scene) {
		changed := newPod("p")
		changed.Generation = 9
		s.put(changed)
		s.putNode(newNode("n1", "b=x"))
		s.acts(eviction.OutcomeEvicted, "get pod", "get node", "patch", "delete")
		require.Contains(s, s.calls[2].patch, `"observedGeneration":9`)
		require.Contains(s, s.calls[2].patch, `taint b=x:NoExecute`)
	})
}

func TestE6ConfirmationKnowsWhatIsHeldAndExempt(t *testing.T) {
	t.Run("held", func(t *testing.T) {
		play(t, sceneOptions{confirm: true, pod: newPod("p", tolerates("a:60"))}, func(s *scene) {
			s.tracker.Finish(time.Now(), s.work, eviction.Result{Outcome: eviction.OutcomeFailed,
				RetryAfter: time.Second})
			s.tracker.SetHold(time.Now(), "ours", "", true)
			time.Sleep(time.Second)
			var ok bool
			s.work, ok = s.tracker.Start(time.Now())
			require.True(s, ok)
			s.putNode(newNode("n1", "NR"))
			s.acts(eviction.OutcomeNotDue, "get pod", "get node")
		})
	})
	t.Run("exempt", func(t *testing.T) {
		config := eviction.Config{
			Exempt: func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }}
		play(t, sceneOptions{confirm: true, config: config}, func(s *scene) {
			changed := newPod("p")
			changed.Labels = map[string]string{"exempt": "yes"}
			s.put(changed)
			s.acts(eviction.OutcomeNotDue, "get pod", "get node")
		})
	})
}

func TestE7DryRunMakesNoCall(t *testing.T) {
	for _, pod := range []*corev1.Pod{newPod("p"), newPod("p", marked)} {
		play(t, sceneOptions{pod: pod}, func(s *scene) {
			s.before = func(call) error { return errors.New("no call was expected") }
			var seen []eviction.Task
			act := eviction.DryRun(func(task eviction.Task) { seen = append(seen, task) })
			result := act(s.Context(), s.work)
			require.NoError(s, result.Err)
			require.Equal(s, eviction.OutcomeDryRun, result.Outcome)
			require.Len(s, seen, 1)
			require.Equal(s, s.work.Pod, seen[0].Pod)
			require.Empty(s, s.verbs())
			s.untouched(pod)

			s.tracker.Finish(time.Now(), s.work, result) // it is reported once
			s.tracker.ObserveNode(time.Now(), newNode("n1", "a", "c:NoSchedule"))
			s.tracker.ObservePod(time.Now(), pod)
			_, ok := s.tracker.Start(time.Now())
			require.False(s, ok)
			time.Sleep(time.Minute)
			s.tracker.ObserveNode(time.Now(), newNode("n1", "b")) // which came later
			task, ok := s.tracker.Start(time.Now())
			require.True(s, ok)
			require.Equal(s, eviction.ReasonUntolerated, task.Decision.Reason)
		})
	}
}
