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

// C1: a task makes no more calls than its caller can count on. That holds also
// when the pod changes all the time and the last answer is ambiguous.
func TestC1AnAttemptMakesNoMoreCallsThanDocumented(t *testing.T) {
	for _, test := range []struct {
		evict, confirm bool
		most           int
	}{
		{evict: false, confirm: false, most: 3},
		{evict: false, confirm: true, most: 12},
		{evict: true, confirm: false, most: 2},
		{evict: true, confirm: true, most: 11},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			play(t, sceneOptions{evict: test.evict, confirm: test.confirm}, func(s *scene) {
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
				require.Len(s, s.verbs(), test.most, "%v", s.verbs())
				require.Equal(s, test.most, result.Requests)
				if test.confirm { // the pod changes all the time: it is tried again soon
					require.Equal(s, 400*time.Millisecond, result.RetryAfter)
				}
			})
		})
	}
}

func TestEdgesNeedAPodClient(t *testing.T) {
	_, err := eviction.NewDeleter(eviction.DeleterConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, "DeleterConfig.Pods is nil")
	_, err = eviction.NewEvictor(eviction.EvictorConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, "EvictorConfig.Pods is nil")
}
