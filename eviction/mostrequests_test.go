package eviction_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/eviction"
)

// C1: a task makes no more calls than its caller has counted on. That holds
// also when the pod changes all the time and the last answer is ambiguous.
func TestC1AnAttemptMakesNoMoreCallsThanConfigured(t *testing.T) {
	for _, test := range []struct {
		evict, confirm bool
		most, calls    int
	}{
		{evict: false, confirm: false, most: 0, calls: 3},
		{evict: false, confirm: false, most: 3, calls: 3},
		{evict: false, confirm: true, most: 0, calls: 25},
		{evict: false, confirm: true, most: 5, calls: 5},
		{evict: false, confirm: true, most: 8, calls: 7},
		{evict: true, confirm: false, most: 2, calls: 2},
		{evict: true, confirm: true, most: 0, calls: 24},
		{evict: true, confirm: true, most: 4, calls: 4},
		{evict: true, confirm: true, most: 7, calls: 6},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			options := sceneOptions{evict: test.evict, confirm: test.confirm, most: test.most}
			play(t, options, func(s *scene) {
				writes := 0
				s.before = func(c call) error {
					if c.verb != "delete" && c.verb != "evict" {
						return nil
					}
					if !test.confirm {
						return apierrors.NewConflict(podResource, "p", errors.New("modified"))
					}
					writes++
					busy := s.get("ns", "p")
					busy.Labels = map[string]string{"beat": fmt.Sprint(writes)}
					s.put(busy)
					return nil
				}
				result := s.act(s.Context(), s.work)
				require.Equal(s, eviction.OutcomeFailed, result.Outcome)
				require.Len(s, s.verbs(), test.calls, "%v", s.verbs())
				require.Equal(s, test.calls, result.Requests)
				if test.confirm { // the pod changes all the time: it is tried again soon
					rereads := (test.calls - 4) / 2
					require.Equal(s, time.Duration(max(rereads, 1))*100*time.Millisecond, result.RetryAfter)
				}
			})
		})
	}
}

func TestC1FewerRequestsThanATaskNeedsAreRefused(t *testing.T) {
	server := newAPIServer()
	for _, most := range []int{-1, 1, 2} {
		_, err := eviction.NewDeleter(eviction.DeleterConfig{Pods: server.client, MostRequests: most})
		require.ErrorIs(t, err, eviction.ErrInvalidConfig)
		require.ErrorContains(t, err,
			fmt.Sprintf("DeleterConfig.MostRequests is %d, want zero or at least 3", most))
	}
	_, err := eviction.NewDeleter(eviction.DeleterConfig{
		Confirm: nodeClient{server}, MostRequests: 4,
	})
	require.ErrorContains(t, err, "DeleterConfig.MostRequests is 4, want zero or at least 5")
	require.ErrorContains(t, err, "DeleterConfig.Pods is nil")
	_, err = eviction.NewEvictor(eviction.EvictorConfig{Pods: server.evictable, MostRequests: 1})
	require.ErrorContains(t, err, "EvictorConfig.MostRequests is 1, want zero or at least 2")
	_, err = eviction.NewEvictor(eviction.EvictorConfig{
		Pods: server.evictable, Confirm: nodeClient{server}, MostRequests: 3,
	})
	require.ErrorContains(t, err, "EvictorConfig.MostRequests is 3, want zero or at least 4")
}
