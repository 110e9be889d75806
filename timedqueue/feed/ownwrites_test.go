package feed

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2031, 2, 3, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func named(name string) identity { return identity{"shop", name, types.UID("uid of " + name)} }

func isWithheld(w *ownWrites, now time.Time, object identity, version string) bool {
	_, withheld := w.reported(now, object, version)
	return withheld
}

func TestOlderReportsAreWithheldUntilOneReachesTheWrite(t *testing.T) {
	w := newOwnWrites(time.Minute)
	w.record(at(0), named("a"), "10")
	require.True(t, isWithheld(w, at(1), named("a"), "9"))
	require.False(t, isWithheld(w, at(1), named("b"), "9"), "another object")
	require.False(t, isWithheld(w, at(1), identity{"shop", "a", "another"}, "9"), "another UID")
	require.False(t, isWithheld(w, at(2), named("a"), "10"))
	require.False(t, isWithheld(w, at(3), named("a"), "9"), "the write was forgotten")
	require.Zero(t, w.inOrder.Len())
}

func TestOlderReportsCountWhenTheTimeoutIsOver(t *testing.T) {
	w := newOwnWrites(time.Minute)
	w.record(at(0), named("a"), "10")
	require.True(t, isWithheld(w, at(59.999), named("a"), "9"))
	require.False(t, isWithheld(w, at(60), named("a"), "9"))
	require.Zero(t, w.inOrder.Len())
}

func TestTimeThatGoesBackDoesNotProlongTheTimeout(t *testing.T) {
	w := newOwnWrites(time.Minute)
	w.record(at(100), named("b"), "10")
	w.record(at(0), named("a"), "10")
	require.True(t, isWithheld(w, at(159), named("a"), "9"), "recorded at 100")
	require.False(t, isWithheld(w, at(160), named("a"), "9"))
	_, over, ok := w.next(at(0), "")
	require.True(t, over && ok, "it has been 160")
}

func TestOfTwoWritesTheNewerVersionCounts(t *testing.T) {
	w := newOwnWrites(time.Minute)
	w.record(at(0), named("a"), "11")
	w.record(at(30), named("a"), "9") // its answer took longer
	require.True(t, isWithheld(w, at(60), named("a"), "10"), "the second write is 30 s old")
	w.record(at(60), named("a"), "20")
	require.True(t, isWithheld(w, at(61), named("a"), "19"))
	require.Equal(t, 1, w.inOrder.Len())
}

func TestVersionsThatDoNotCompareAreNeverWithheld(t *testing.T) {
	w := newOwnWrites(time.Minute)
	for _, version := range []string{"", "0", "abc", "-1", "010"} {
		w.record(at(0), named("a"), version)
		require.Zero(t, w.inOrder.Len(), version)
		w.record(at(0), named("a"), "10")
		require.False(t, isWithheld(w, at(1), named("a"), version), version)
		require.Zero(t, w.inOrder.Len(), version)
		w.record(at(0), named("a"), "10")
		own, withheld := w.reported(at(1), named("a"), "9")
		require.True(t, withheld)
		w.stored(own, version)
		require.Zero(t, w.inOrder.Len(), version)
	}
}

// A slow reference, which keeps and scans everything, agrees on what is
// withheld and on what is kept.
func TestRandomWritesAndReportsAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	type write struct {
		version, turn int // the turn orders writes of the same instant
		at            time.Time
	}
	w, reference := newOwnWrites(time.Minute), map[identity]write{}
	now := at(0)
	for turn := range 50_000 {
		now = now.Add(time.Duration(random.IntN(6_000)) * time.Millisecond)
		object, version := named(strconv.Itoa(random.IntN(20))), 1+random.IntN(40)
		what := fmt.Sprintf("at %v: %s version %d", now, object.name, version)
		known, ok := reference[object]
		switch random.IntN(4) {
		case 0:
			w.record(now, object, strconv.Itoa(version))
			reference[object] = write{max(version, known.version), turn, now}
		case 1:
			w.forget(object)
			delete(reference, object)
		case 2:
			withheld := ok && version < known.version && now.Sub(known.at) < time.Minute
			require.Equal(t, withheld, isWithheld(w, now, object, strconv.Itoa(version)), what)
			if !withheld {
				delete(reference, object)
			}
		case 3:
			own, over, ended := w.next(now, strconv.Itoa(version))
			var oldest identity
			for object, write := range reference {
				if oldest == (identity{}) || write.turn < reference[oldest].turn {
					oldest = object
				}
			}
			first, some := reference[oldest]
			isOver := some && now.Sub(first.at) >= time.Minute
			require.Equal(t, some && (isOver || first.version <= version), ended, what)
			if ended {
				require.Equal(t, isOver, over, what)
				require.Equal(t, oldest, own.object, what)
				delete(reference, oldest)
			}
		}
		require.Len(t, w.byObject, len(reference), what)
		require.Equal(t, len(reference), w.inOrder.Len(), what)
	}
}
