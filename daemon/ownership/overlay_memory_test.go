package ownership

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Memory is bounded by the writes of one timeout, also for a caller that only
// writes, and a record forgets a few at a time.
func TestOverlayForgetsWritesInBoundedTurns(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	overlay, err := NewOverlay[*metav1.ObjectMeta](OverlayConfig{Timeout: time.Second}, now)
	require.NoError(t, err)
	write := func(i int) {
		overlay.Patched(now, &metav1.ObjectMeta{Name: strconv.Itoa(i), ResourceVersion: "9"})
	}
	const writes = 1000
	for i := range writes {
		write(i)
	}
	require.Len(t, overlay.of, writes)
	now = now.Add(time.Second)
	write(writes)
	require.Len(t, overlay.of, writes-forgottenAtOnce+1)
	for i := range writes / (forgottenAtOnce - 1) {
		write(writes + 1 + i)
	}
	require.Len(t, overlay.of, writes/(forgottenAtOnce-1)+1, "those of the last second")
	require.Equal(t, len(overlay.of), overlay.inOrder.Len())
	overlay.Merge(now, nil)
	require.Empty(t, overlay.of)
}
