package ownership_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newOverlay(t *testing.T) *ownership.Overlay[*metav1.ObjectMeta] {
	t.Helper()
	overlay, err := ownership.NewOverlay[*metav1.ObjectMeta](ownership.OverlayConfig{}, noon)
	require.NoError(t, err)
	return overlay
}

// thing parses an object from "name uid@version".
func thing(text string) *metav1.ObjectMeta {
	name, rest, _ := strings.Cut(text, " ")
	uid, version, _ := strings.Cut(rest, "@")
	return &metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}
}

func things(texts ...string) []*metav1.ObjectMeta {
	var all []*metav1.ObjectMeta
	for _, text := range texts {
		all = append(all, thing(text))
	}
	return all
}

func texts(objects []*metav1.ObjectMeta) []string {
	all := []string{}
	for _, object := range objects {
		all = append(all, fmt.Sprintf("%s %s@%s", object.Name, object.UID, object.ResourceVersion))
	}
	return all
}

// A step of a test: a write, or what the cache has and what Merge makes of it.
type step struct {
	created, patched, deleted string
	after                     time.Duration
	cached                    []string
	want                      []string
}

func TestOverlayShowsTheCacheWithOwnWrites(t *testing.T) {
	list := func(texts ...string) []string { return texts }
	none := []string{}
	for name, steps := range map[string][]step{
		"an adopted object is not an orphan again": {
			{patched: "a u@9"},
			{cached: list("a u@7", "b v@8"), want: list("a u@9", "b v@8")},
			{cached: list("a u@8", "b v@8"), want: list("a u@9", "b v@8")},
		},
		"a write that the cache has reached is forgotten": {
			{patched: "a u@9"},
			{cached: list("a u@9"), want: list("a u@9")},
			{cached: list("a u@7"), want: list("a u@7")}, // a relist to a lower version
		},
		"a newer version of the cache wins": {
			{patched: "a u@9"}, {cached: list("a u@10"), want: list("a u@10")},
		},
		"a created object is there": {
			{created: "a u@9"},
			{cached: none, want: list("a u@9")},
			{cached: list("b v@8"), want: list("b v@8", "a u@9")},
			{cached: list("b v@8", "a u@9"), want: list("b v@8", "a u@9")},
			{cached: list("b v@8"), want: list("b v@8")},
		},
		"created objects come in the order of their writes": {
			{created: "b u@9"}, {created: "a v@10"}, {created: "c w@11"},
			{cached: list("z x@8"), want: list("z x@8", "b u@9", "a v@10", "c w@11")},
		},
		"a created object is deleted if the cache has passed it": {
			{created: "a u@9"}, {cached: list("b v@9"), want: list("b v@9")},
			{cached: none, want: none},
		},
		"a created object that was patched is still there": {
			{created: "a u@9"}, {patched: "a u@11"},
			{cached: list("b v@10"), want: list("b v@10", "a u@11")},
			{cached: list("b v@10", "a u@9"), want: list("b v@10", "a u@11")},
			{cached: list("b v@10"), want: list("b v@10")},
		},
		"a patched object that the cache lacks is deleted": {
			{patched: "a u@9"}, {cached: none, want: none},
			{cached: list("a u@7"), want: list("a u@7")},
		},
		"a deleted object is not counted, whatever its version": {
			{deleted: "a u@7"},
			{cached: list("a u@7", "b v@8"), want: list("b v@8")},
			{cached: list("a u@12"), want: none},
			{cached: none, want: none},
			{cached: list("a u@7"), want: list("a u@7")}, // a restored backup
		},
		"a deletion is known for an older version": {
			{patched: "a u@9"}, {deleted: "a u@7"}, {cached: list("a u@7"), want: none},
		},
		"a created and deleted object does not return": {
			{created: "a u@9"}, {deleted: "a u@9"},
			{cached: none, want: none},
			{cached: list("a u@9"), want: none},
		},
		"a late answer changes nothing": {
			{patched: "a u@9"}, {patched: "a u@8"}, {cached: list("a u@7"), want: list("a u@9")},
			{deleted: "a u@9"}, {patched: "a u@10"}, {cached: list("a u@7"), want: none},
		},
		"an object that was created again replaces the former one": {
			{created: "a u@9"}, {cached: list("a former@7"), want: list("a u@9")},
			{cached: list("a later@12"), want: list("a later@12")},
		},
		"one that was created again after our deletion is there": {
			{deleted: "a u@9"}, {cached: list("a later@12"), want: list("a later@12")},
		},
		"a write of a former object changes nothing": {
			{created: "a u@9"}, {deleted: "a former@7"}, {cached: none, want: list("a u@9")},
		},
		"versions that do not compare are the cache's": {
			{patched: "a u@x9"}, {patched: "b v@9"},
			{cached: list("a u@7", "b v@x"), want: list("a u@7", "b v@x")},
		},
		"versions of others that do not compare pass nothing": {
			{created: "a u@9"}, {cached: list("b v@x10"), want: list("b v@x10", "a u@9")},
			{cached: list("b v@9", "c w@x10"), want: list("b v@9", "c w@x10")},
		},
		"a write counts until the timeout": {
			{patched: "a u@9"}, {created: "b v@9"}, {deleted: "c w@9"},
			{after: time.Minute - 1, cached: list("a u@7", "c w@7"), want: list("a u@9", "b v@9")},
			{after: 1, cached: list("a u@7", "c w@7"), want: list("a u@7", "c w@7")},
		},
		"each write has its own timeout": {
			{patched: "a u@9"}, {after: time.Minute - 1, patched: "a u@10"},
			{after: time.Second, cached: list("a u@7"), want: list("a u@10")},
		},
		"time that goes back is not trusted": {
			{patched: "a u@9"}, {after: time.Minute, cached: list("a u@7"), want: list("a u@7")},
			{after: -time.Hour, patched: "a u@9"},
			{after: time.Hour + time.Minute - 1, cached: list("a u@7"), want: list("a u@9")},
			{after: 1, cached: list("a u@7"), want: list("a u@7")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			overlay, now := newOverlay(t), noon
			for i, s := range steps {
				now = now.Add(s.after)
				switch {
				case s.created != "":
					overlay.Created(now, thing(s.created))
				case s.patched != "":
					overlay.Patched(now, thing(s.patched))
				case s.deleted != "":
					overlay.Deleted(now, thing(s.deleted))
				default:
					require.Equal(t, s.want, texts(overlay.Merge(now, things(s.cached...))), "step %d", i)
				}
			}
		})
	}
}

func TestOverlayChangesNothingOfTheCache(t *testing.T) {
	overlay := newOverlay(t)
	cached := things("a u@7", "b v@8", "c w@8")
	for range 2 {
		merged := overlay.Merge(noon, cached)
		merged[0] = nil
		require.Equal(t, []string{"a u@7", "b v@8", "c w@8"}, texts(cached))
		overlay.Deleted(noon, thing("a u@7"))
		overlay.Patched(noon, thing("b v@9"))
	}
}

func TestInvalidOverlayConfigIsRefused(t *testing.T) {
	config := ownership.OverlayConfig{Timeout: -1}
	_, err := ownership.NewOverlay[*metav1.ObjectMeta](config, time.Time{})
	require.ErrorIs(t, err, ownership.ErrInvalidConfig)
	require.ErrorContains(t, err, "OverlayConfig.Timeout is -1ns")
	require.ErrorContains(t, err, "now is zero")
}

// event is a version of an object on the API server. Ours is the time of our
// own write, zero for that of another client.
type event struct {
	object  *metav1.ObjectMeta
	deleted bool
	ours    time.Time
}

// overlayWorld is an API server, a cache that is some events behind, and an
// overlay.
type overlayWorld struct {
	*rand.Rand
	now     time.Time
	log     []event // the version is the position, counted from one
	reached int     // events that the cache has
	overlay *ownership.Overlay[*metav1.ObjectMeta]
	done    map[string]int
}

// newest returns the newest event of each name among those that count.
func (w *overlayWorld) newest(counts func(version int, e event) bool) map[string]event {
	newest := map[string]event{}
	for i, e := range w.log {
		if counts(i+1, e) {
			newest[e.object.Name] = e
		}
	}
	return newest
}

// cached lists what the cache has, and an object that shows how far it is.
func (w *overlayWorld) cached() []*metav1.ObjectMeta {
	newest := w.newest(func(version int, _ event) bool { return version <= w.reached })
	cached := things("tick t@" + strconv.Itoa(w.reached))
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		if e := newest[name]; !e.deleted {
			cached = append(cached, e.object)
		}
	}
	return cached
}

// known is the slow reference. For each name it returns the newest of the
// events in the cache and of our own writes of the last minute.
func (w *overlayWorld) known() []string {
	known := []string{"tick t@" + strconv.Itoa(w.reached)}
	newest := w.newest(func(version int, e event) bool {
		return version <= w.reached || !e.ours.IsZero() && w.now.Sub(e.ours) < time.Minute
	})
	for _, e := range newest {
		if !e.deleted {
			known = append(known, texts([]*metav1.ObjectMeta{e.object})...)
		}
	}
	return known
}

// write lets us or another client create, change or delete the object of a
// name.
func (w *overlayWorld) write(name string, ours bool) {
	version := strconv.Itoa(len(w.log) + 1)
	live, exists := w.newest(func(int, event) bool { return true })[name]
	e := event{object: thing(name + " uid-" + version + "@" + version)}
	if ours {
		e.ours = w.now
	}
	before := w.merged()[name]
	switch {
	case !exists || live.deleted:
		if ours {
			w.overlay.Created(w.now, e.object)
			w.done["created"]++
		}
	case ours && (before == nil || before.UID != live.object.UID):
		return // we do not know it, or know another one
	case w.IntN(3) > 0:
		e.object.UID = live.object.UID
		if ours {
			w.overlay.Patched(w.now, e.object)
			w.done["patched"]++
		}
	default:
		e.object.UID, e.deleted = live.object.UID, true
		if ours {
			w.overlay.Deleted(w.now, before)
			w.done["deleted"]++
		}
	}
	w.log = append(w.log, e)
}

func (w *overlayWorld) merged() map[string]*metav1.ObjectMeta {
	merged := map[string]*metav1.ObjectMeta{}
	for _, object := range w.overlay.Merge(w.now, w.cached()) {
		merged[object.Name] = object
	}
	return merged
}

func TestOverlayKnowsWhatTheCacheAndOurWritesSay(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	done := map[string]int{}
	for run := range uint64(300) {
		w := &overlayWorld{
			Rand: rand.New(rand.NewPCG(seed, run)), now: noon, overlay: newOverlay(t), done: done,
		}
		for range 200 {
			switch w.IntN(4) {
			case 0, 1:
				w.write(string(rune('a'+w.IntN(4))), w.IntN(2) == 0)
			case 2:
				w.reached += w.IntN(min(4, len(w.log)-w.reached+1))
			case 3:
				w.now = w.now.Add(w.DurationN(25))
			}
			cached := w.cached()
			merged := texts(w.overlay.Merge(w.now, cached))
			require.ElementsMatch(t, w.known(), merged, "run %d, cache %v", run, texts(cached))
			if !slices.Equal(merged, texts(cached)) {
				done["differs from the cache"]++
			}
		}
	}
	for _, what := range []string{"created", "patched", "deleted", "differs from the cache"} {
		require.Greater(t, done[what], 1000, "%s: %v", what, done)
	}
}

func (w *overlayWorld) DurationN(seconds int) time.Duration {
	return time.Duration(w.IntN(seconds)) * time.Second
}
