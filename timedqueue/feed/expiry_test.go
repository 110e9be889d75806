package feed

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// expirer counts how often it is called.
type expirer struct{ calls atomic.Int32 }

func (e *expirer) Expire() { e.calls.Add(1) }

func TestExpiringIsOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
		defer stop()
		first, second := &expirer{}, &expirer{}
		Expiring(ctx, first, second)
		require.EqualValues(t, 60, first.calls.Load())
		require.EqualValues(t, 60, second.calls.Load())
	})
}
