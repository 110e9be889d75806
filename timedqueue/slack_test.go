package timedqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInvalidDispatcherConfigIsRefused(t *testing.T) {
	q := newTestQueue(t, unlimited)
	act := func(context.Context, Item[string, int]) Result { return actionDone }
	_, err := NewDispatcher(q, act, DispatcherConfig{Workers: -1, Slack: -time.Second})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "Workers is -1")
	require.ErrorContains(t, err, "Slack is -1s")
}

// Of many tasks that are due at times of their own, those of each tenth of a
// second start together. They are at most that much late, and never early.
func TestWhatIsDueWithinASlackStartsInOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, slack, over = 10_000, 100 * time.Millisecond, 10 * time.Second
		polls := map[time.Time]bool{}
		q := queueNow(t, unlimited)
		core := &countingCore{Core: q}
		core.next = func(now time.Time) (time.Time, bool) {
			polls[now] = true
			return q.Next(now)
		}
		acted := 0
		act := func(_ context.Context, item Item[string, int]) Result {
			acted++
			late := time.Since(item.Due)
			require.GreaterOrEqual(t, late, time.Duration(0), "too early")
			require.Less(t, late, slack)
			return actionDone
		}
		d := runAs(t, core, DispatcherConfig{Slack: slack}, act)
		sleep(33 * time.Millisecond) // the time that it starts at is none of those in common
		d.Update(func() {
			random := rand.New(rand.NewPCG(1, 2))
			for i := range tasks {
				due := time.Duration(random.Int64N(int64(over)))
				q.Add(fmt.Sprint(i), 0, time.Now().Add(due))
			}
		})
		sleep(over + slack)
		require.Equal(t, tasks, acted)
		require.LessOrEqual(t, len(polls), int(over/slack)+4)
	})
}

func TestAChangeIsPolledWithoutSlack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		began, acted := time.Now(), time.Duration(-1)
		act := func(context.Context, Item[string, int]) Result {
			acted = time.Since(began)
			return actionDone
		}
		d := runAs(t, q, DispatcherConfig{Slack: time.Second}, act)
		sleep(70 * time.Millisecond)
		d.Update(func() { q.Add("a", 0, time.Now()) })
		synctest.Wait()
		require.Equal(t, 70*time.Millisecond, acted)
	})
}
