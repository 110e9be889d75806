package feed

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
)

// E2: a watch is alive in each second in which its informer has received
// something, and in no other.
func TestE2PulsesTellThatAWatchIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		nodes, pods := &pulsing{}, &pulsing{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Pulses(ctx,
				Pulse{Informer: nodes, Beat: func() { nodes.beats.Add(1) }},
				Pulse{Informer: pods, Handler: pods})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, nodes.beats.Load(), "it has no list yet")
		for version, want := range []int32{1, 2, 3} {
			nodes.version.Store(ptr.To(strconv.Itoa(version)))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, want, nodes.beats.Load())
		}
		require.InDelta(t, 4*60, pods.beats.Load(), 1, "once a second, whatever it has received")
		stop()
		<-done
	})
}

// pulsing is the part of an informer that Pulses reads.
type pulsing struct {
	version atomic.Pointer[string]
	beats   atomic.Int32
}

func (i *pulsing) Expire() { i.beats.Add(1) }

func (i *pulsing) LastSyncResourceVersion() string {
	if version := i.version.Load(); version != nil {
		return *version
	}
	return ""
}
