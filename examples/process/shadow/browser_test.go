package shadow

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/htmlpage/browser"
)

// The page of a shadow in a browser: both sides on the same axes and in two
// timelines, with one cursor, which the keyboard moves.
func TestBrowserShowsAShadow(t *testing.T) {
	b := browser.Start(t)
	file := filepath.Join(t.TempDir(), "shadow.html")
	synctest.Test(t, func(t *testing.T) {
		s := newShadow(t, RecordConfig{Tolerance: 5 * time.Second})
		time.Sleep(10 * time.Second)
		evictCart(t, s) // by the shadow
		time.Sleep(90 * time.Second)
		s.ForgetPod(time.Now(), newPod()) // and by the cluster
		time.Sleep(time.Minute)
		out, err := os.Create(file)
		require.NoError(t, err)
		require.NoError(t, s.WritePage(out))
		require.NoError(t, out.Close())
	})
	b.Open(file)
	b.RequireDrawn(3)
	require.Equal(t, 2, browser.Value[int](b, `document.querySelectorAll(".timeline").length`))
	b.Focus("#plot-1")
	for _, at := range []struct{ key, want string }{
		{"End", `^0:02:40\. .*EvictPod, shadow 1; .*EvictPod, cluster 1\. Last, `},
		{"Home", `^0:00:00\. .*EvictPod, shadow 0; .*EvictPod, cluster 0\b`},
	} {
		b.Press(at.key)
		require.Regexp(t, at.want, b.Readout())
	}
	b.Focus("#timeline-1")
	b.Press("ArrowDown")
	require.Zero(t, b.Current(1))
	require.Contains(t, b.Readout(), "0:01:40. ", "when the cluster evicted")
	require.Zero(t, b.Current(0), "the shadow had done so before")
	for i, x := range b.Cursors() {
		require.InDelta(t, b.Cursors()[0], x, 1, "plot %d", i)
	}
	b.Shoot("shadow.png")
	b.Theme("dark")
	b.RequireDrawn(3)
	b.RequireNoFaults(file)
}
