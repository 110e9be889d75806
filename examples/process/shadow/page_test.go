package shadow

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A page has the differences of both sides at their times, and their counts.
func TestC7ThePageShowsBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShadow(t, RecordConfig{Tolerance: 5 * time.Second})
		time.Sleep(10 * time.Second)
		evictCart(t, s)
		time.Sleep(90 * time.Second)
		s.ForgetPod(time.Now(), newPod())
		for i, at := range []time.Time{time.Now(), time.Now().Add(time.Second), time.Now().Add(time.Minute)} {
			s.world.record.Cluster(at, taintOn("same"), i%2 == 0)
			s.world.record.Shadow(at, taintOn("same"), i%2 == 0)
		}
		time.Sleep(time.Minute)
		s.world.record.Shadow(time.Now(), taintOn("early"), true)
		s.world.record.Cluster(time.Now(), taintOn("late"), true)
		s.world.record.End(time.Now(), taintOn("late"))

		answer := ask(s, "?format=html")
		require.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
		text := answer.Body.String()
		for _, want := range []string{
			"From 2000-01-01T00:00:00.000Z to 2000-01-01T00:02:40.000Z. Both within 5s count as the same.",
			"Differences, shadow", `data-at="10"`, "EvictPod: the shadow was 1m30s earlier",
			"Differences, cluster", `data-at="100"`,
			"AddNoExecute unreachable: only the shadow so far", "AddNoExecute unreachable: only the cluster, over at 0:02:40",
			`<tr><th scope="row">EvictPod</th><td>Earlier</td><td>1</td><td>1m30s</td></tr>`,
			`<tr><th scope="row" class="wrong">AddNoExecute</th><td class="wrong">OnlyCluster</td><td class="wrong">1</td>`,
			"Written by <code>nodelifecycle --shadow</code>", "Full lines are shadow, broken lines cluster.",
			`"runs":["shadow","cluster"]`, `"duration":160,`,
		} {
			require.Contains(t, text, want)
		}
		r := s.report(MaxLimit)
		require.Len(t, r.history.points, 161)
		added, evicted := r.curve(ActionAddNoExecute, ""), r.curve(ActionEvictPod, "")
		for side, at := range []int{10, 100} {
			require.Zero(t, evicted.Values[side].([]int)[at])
			require.Equal(t, 1, evicted.Values[side].([]int)[at+1], "the end of that second")
			require.Equal(t, 1, evicted.Values[side].([]int)[161])
			require.Equal(t, 3, added.Values[side].([]int)[161])
		}
	})
}

// The memory of a history is the same however long it is, and its last point
// has everything.
func TestAHistoryIsBounded(t *testing.T) {
	var h history
	n := 0
	for at := range 100_000 {
		if at%7 == 0 {
			h.add(after(at), ActionEvictPod, true)
			n++
		}
		require.LessOrEqual(t, len(h.points), mostPoints)
	}
	c := h.snapshot(after(200_000))
	require.LessOrEqual(t, len(c.points), mostPoints)
	require.NotEqual(t, c.step, h.step, "the copy reaches further")
	times := c.at(after(200_000))
	require.Equal(t, 200_000*time.Second, times[len(times)-1])
	for i, p := range c.points {
		done := p.shadow[len(actions)-1]
		upTo := min(int(times[i]/time.Second), 100_000)
		require.InDelta(t, upTo/7, done, 1, "point %d at %v", i, times[i])
		require.Zero(t, p.cluster)
	}
	require.Equal(t, n, c.points[len(c.points)-1].shadow[len(actions)-1])
	h.add(after(0), ActionEvictPod, true)
	require.Equal(t, n+1, h.points[len(h.points)-1].shadow[len(actions)-1], "time stands still")
}

// The file is there at the end, and a file that cannot be is told at the start.
func TestC7ThePageIsWrittenAtTheEnd(t *testing.T) {
	s := newShadow(t, RecordConfig{Program: "tainteviction"})
	folder := t.TempDir()
	_, err := s.Ending(t.Context(), io.Discard, filepath.Join(folder, "none", "x.html"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "--shadow-html ")
	name := filepath.Join(folder, "x.html")
	var out bytes.Buffer
	tell, err := s.Ending(t.Context(), &out, name)
	require.NoError(t, err)
	require.NoFileExists(t, name)
	evictCart(t, s)
	tell()
	require.Contains(t, out.String(), "1 of 1 differences")
	written, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(written), "EvictPod: only the shadow so far")
	require.Contains(t, string(written), "Written by <code>tainteviction --shadow</code>")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, fmt.Sprint(entries))
}
