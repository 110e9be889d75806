package feed

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// core records what a handler passes on, a list for each turn.
type core struct {
	lock  chan struct{} // synctest.Wait does not wait for a sync.Mutex
	turns [][]string
}

func newCore() *core { return &core{lock: make(chan struct{}, 1)} }

func (c *core) acquire() { c.lock <- struct{}{} }
func (c *core) release() { <-c.lock }

func (c *core) update(turn func(now time.Time)) {
	c.acquire()
	defer c.release()
	before := len(c.turns)
	c.turns = append(c.turns, nil)
	turn(time.Now())
	if c.turns[before] == nil {
		c.turns = c.turns[:before]
	}
}

func (c *core) record(what string, pod *corev1.Pod) {
	last := len(c.turns) - 1
	c.turns[last] = append(c.turns[last],
		what+" "+pod.Name+"@"+pod.ResourceVersion+" "+string(pod.UID))
}

// took returns what the turns since the last call were, once all is quiet.
func (c *core) took() [][]string {
	synctest.Wait()
	c.acquire()
	defer c.release()
	turns := c.turns
	c.turns = nil
	return turns
}

func (c *core) config(store Store) Config[*corev1.Pod] {
	return Config[*corev1.Pod]{
		Update: c.update,
		Seen:   func(_ time.Time, pod *corev1.Pod) { c.record("seen", pod) },
		Gone:   func(_ time.Time, pod *corev1.Pod) { c.record("gone", pod) },
		Store:  store,
	}
}

func newHandler(t *testing.T, config Config[*corev1.Pod]) *Handler[*corev1.Pod] {
	t.Helper()
	handler, err := NewHandler(config)
	require.NoError(t, err)
	return handler
}

// world is a server whose pods an informer reports to a core through a handler.
type world struct {
	*server
	*core
	*Handler[*corev1.Pod]
}

// tellingStore gives a store of client-go v0.35, which cannot tell how far it
// is, the method of later ones. The informer's version is that of the store
// when synctest.Wait has returned.
type tellingStore struct{ Store }

func (s tellingStore) LastStoreSyncResourceVersion() string {
	return s.LastSyncResourceVersion()
}

func telling(informer cache.SharedIndexInformer) Store {
	store := StoreOf(informer)
	if _, tells := informer.GetStore().(storeThatTells); tells {
		return store
	}
	return tellingStore{store}
}

func storeThatCannotTell(informer cache.SharedIndexInformer) Store {
	return silentStore{StoreOf(informer)}
}

// inWorld runs a test in a world of pod a, version 1, which the core has seen.
// The informer's store tells how far it is.
func inWorld(t *testing.T, test func(t *testing.T, w world)) {
	inWorldOf(t, telling, test)
}

func inWorldOf(
	t *testing.T, storeOf func(cache.SharedIndexInformer) Store, test func(t *testing.T, w world),
) {
	synctest.Test(t, func(t *testing.T) {
		server, core := newServer(), newCore()
		server.write("a", "first")
		informer := server.informer()
		w := world{server, core, newHandler(t, core.config(storeOf(informer)))}
		_, err := informer.AddEventHandler(w.Handler)
		require.NoError(t, err)
		run(t, informer)
		require.Equal(t, [][]string{{"seen a@1 first"}}, w.took())
		test(t, w)
	})
}

func TestChangesReachTheCoreOneTurnEach(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		w.write("b", "second")
		w.delete("a")
		w.show(3)
		require.Equal(t,
			[][]string{{"seen a@2 first"}, {"seen b@3 second"}, {"gone a@4 first"}}, w.took())
	})
}

func TestMissedDeletionIsADeletion(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.delete("a")
		w.breakWatch()
		time.Sleep(time.Minute) // the informer waits before it lists
		require.Equal(t, [][]string{{"gone a@1 first"}}, w.took())
	})
}

func TestReplacedObjectIsGoneBeforeTheNewOneIsSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Wrote(w.write("a", "first")) // its reports would be withheld
		w.delete("a")
		w.write("a", "second")
		w.breakWatch()
		time.Sleep(time.Minute / 2)
		require.Equal(t, [][]string{{"seen a@2 first"}, {"gone a@1 first", "seen a@4 second"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

func TestOwnWriteIsSeenAtOnceAndOlderReportsAreWithheld(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		w.Wrote(w.write("a", "first"))
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		w.show(1)
		require.Empty(t, w.took(), "version 2 lacks what we have written")
		w.show(1)
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		require.Empty(t, w.own.of, "the report has reached the write")
	})
}

// Trap 1: the watch has shown a later change when the answer arrives.
func TestAnOwnWriteThatIsOlderThanWhatWasSeenIsNotSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ours := w.write("a", "first")
		w.write("a", "first")
		w.show(2)
		require.Equal(t, [][]string{{"seen a@2 first"}, {"seen a@3 first"}}, w.took())
		w.Wrote(ours)
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took(), "version 3 has its deletion, for example")
	})
}

// Of two answers the one to the earlier write arrives later.
func TestALateAnswerTakesNothingBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		earlier, later := w.write("a", "first"), w.write("a", "first")
		w.Wrote(later)
		w.Wrote(earlier)
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		w.show(1)
		require.Empty(t, w.took())
	})
}

// The store is ahead of the reports.
func TestAnOwnWriteBehindTheStoreShowsTheStore(t *testing.T) {
	for name, storeOf := range map[string]func(cache.SharedIndexInformer) Store{
		"that tells": telling, "that cannot tell": storeThatCannotTell,
	} {
		t.Run(name, func(t *testing.T) {
			inWorldOf(t, storeOf, func(t *testing.T, w world) {
				w.write("a", "first")
				ours := w.write("a", "first")
				w.write("a", "first")
				w.acquire() // the core is busy while the store goes on
				w.show(3)
				synctest.Wait()
				go w.Wrote(ours)
				w.release()
				turns := w.took()
				require.Contains(t, turns, []string{"seen a@4 first"})
				reported := false
				for _, turn := range turns {
					reported = reported || turn[0] == "seen a@4 first"
					require.True(t, !reported || turn[0] == "seen a@4 first", "%v goes back", turns)
				}
			})
		})
	}
}

func TestACreationIsSeenAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Wrote(w.write("b", "second"))
		require.Equal(t, [][]string{{"seen b@2 second"}}, w.took())
		w.show(1)
		require.Equal(t, [][]string{{"seen b@2 second"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

// A relist has missed all of it, so no report follows.
func TestACreationThatTheWatchHasNeverShownEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Wrote(w.write("b", "second"))
		w.delete("b")
		w.breakWatch()
		for range 60 { // seconds; it is less since it was listed
			time.Sleep(time.Second)
			w.Expire() // a report may come before the informer says how far it is
		}
		require.Equal(t, [][]string{{"seen b@2 second"}, {"seen a@1 first"}}, w.took())
		time.Sleep(ownWriteTimeout / 2)
		w.Expire()
		require.Equal(t, [][]string{{"gone b@2 second"}}, w.took())
	})
}

// The watch is faster than the answers.
func TestAnOwnWriteOfWhatIsGoneIsNotSeen(t *testing.T) {
	for name, storeOf := range map[string]func(cache.SharedIndexInformer) Store{
		"store that tells": telling, "store that cannot tell": storeThatCannotTell,
	} {
		t.Run(name, func(t *testing.T) {
			inWorldOf(t, storeOf, func(t *testing.T, w world) {
				marked, created := w.write("a", "first"), w.write("b", "second")
				w.delete("a")
				w.delete("b")
				w.show(4)
				require.Len(t, w.took(), 4)
				w.Wrote(marked)
				w.Wrote(created)
				require.Empty(t, w.took())
			})
		})
	}
}

func TestACreationUnderATakenNameEndsTheFormerObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.delete("a")
		w.Wrote(w.write("a", "second"))
		require.Equal(t, [][]string{{"gone a@1 first", "seen a@3 second"}}, w.took())
		w.show(1)
		require.Empty(t, w.took(), "a core that knows names alone would lose the second")
		w.show(1)
		require.Equal(t, [][]string{{"seen a@3 second"}}, w.took())
	})
}

func TestAnOwnWriteOfAFormerObjectIsNotSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ours := w.write("a", "first")
		w.delete("a")
		w.write("a", "second")
		w.show(3)
		require.Len(t, w.took(), 3)
		w.Wrote(ours)
		w.Deleted(ours)
		require.Empty(t, w.took())
	})
}

func TestADeletionIsToldAtOnceAndOutranksReports(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		last := w.write("a", "first")
		w.write("a", "first")
		w.delete("a")
		w.Deleted(last)
		require.Equal(t, [][]string{{"gone a@2 first"}}, w.took())
		w.Wrote(last)
		w.show(2)
		require.Empty(t, w.took())
		w.show(1)
		require.Equal(t, [][]string{{"gone a@4 first"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

// The object is there all the same: the deletion was undone by a restored
// backup, or was that of a dry run.
func TestADeletionThatTheStoreNeverShowsIsForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Deleted(w.write("a", "first"))
		w.show(1)
		require.Equal(t, [][]string{{"gone a@2 first"}}, w.took())
		time.Sleep(time.Minute)
		w.Expire()
		require.Equal(t, [][]string{{"seen a@2 first"}}, w.took())
	})
}

// The watch goes on, and has lost our write.
func TestALostWriteEndsWithTheTimeout(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Wrote(w.write("a", "first"))
		w.drop()
		w.write("b", "second")
		w.show(1)
		w.write("b", "second")
		require.Equal(t, [][]string{{"seen a@2 first"}, {"seen b@3 second"}}, w.took())
		time.Sleep(time.Minute)
		w.show(1)
		require.Equal(t, [][]string{{"seen b@4 second", "seen a@1 first"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

// What the store has is older than the write, and no client could know more.
func TestAnOwnWriteStaysWhileTheWatchDeliversNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		ours := w.write("a", "first")
		w.bookmark()
		synctest.Wait() // the handler has not been called since
		w.Wrote(ours)
		w.Deleted(w.write("b", "second"))
		for range 45 {
			time.Sleep(time.Minute)
			w.Expire()
		}
		require.Equal(t, [][]string{{"seen a@3 first"}, {"gone b@5 second"}}, w.took())
		w.show(1)
		require.Empty(t, w.took(), "version 2, though the write is 45 minutes old")
		w.show(1)
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		time.Sleep(time.Minute)
		w.show(1)
		require.Equal(t, [][]string{{"seen b@5 second"}}, w.took())
	})
}

// No object has changed, so there is no report.
func TestABookmarkOrAListStartsTheTimeout(t *testing.T) {
	for name, receive := range map[string]func(w world){
		"bookmark": func(w world) { w.bookmark() },
		"list":     func(w world) { w.breakWatch() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.Wrote(w.write("a", "first"))
				w.drop()
				w.pods = map[string]*corev1.Pod{"a": podOf("1")} // the write is lost
				require.Equal(t, [][]string{{"seen a@2 first"}}, w.took())
				receive(w)
				time.Sleep(time.Minute / 2) // the informer waits before it lists
				w.Expire()
				time.Sleep(time.Minute)
				w.Expire()
				require.Contains(t, w.took(), []string{"seen a@1 first"})
				require.Empty(t, w.own.of)
			})
		})
	}
}

// The versions of a restored API server lie before that of our write, and
// before that of what the store had.
func TestAListThatGoesBackIsBelieved(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		restore := w.backup()
		w.write("a", "first")
		w.show(1)
		require.Equal(t, [][]string{{"seen a@2 first"}}, w.took())
		w.Wrote(w.write("a", "first"))
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		restore()
		time.Sleep(time.Minute / 2)
		require.Equal(t, [][]string{{"seen a@1 first"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

// The store has never had our writes, so nothing tells a restored backup from a
// watch that is behind.
func TestAListThatDoesNotGoBackWaitsForTheTimeout(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		restore := w.backup()
		w.Wrote(w.write("a", "first"))
		w.Wrote(w.write("b", "second"))
		require.Equal(t, [][]string{{"seen a@2 first"}, {"seen b@3 second"}}, w.took())
		restore()
		time.Sleep(time.Minute / 2)
		w.Expire()
		require.Empty(t, w.took(), "a@1 is withheld")
		for range 3 { // until the server is further than our writes were
			w.bookmark()
		}
		synctest.Wait()
		w.Expire()
		time.Sleep(time.Minute)
		w.Expire()
		require.Equal(t, [][]string{{"seen a@1 first", "gone b@3 second"}}, w.took())
		require.Empty(t, w.own.of)
	})
}

// An object that was gone comes back with its UID and an older version.
func TestAnObjectThatComesBackIsBelieved(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		restore := w.backup()
		last := w.write("a", "first")
		w.delete("a")
		w.Deleted(last)
		w.show(2)
		require.Equal(t, [][]string{{"gone a@2 first"}, {"gone a@3 first"}}, w.took())
		restore()
		time.Sleep(time.Minute / 2)
		require.Equal(t, [][]string{{"seen a@1 first"}}, w.took())
	})
}

// storeOf is a store of one pod which knows a version. Its informer has received
// another version each time that it is asked, later than any write of a test.
type storeOf struct {
	pod     *corev1.Pod
	version string
}

func (s storeOf) LastSyncResourceVersion() string {
	return strconv.Itoa(int(2_000_000_000 + asked.Add(1)))
}

var asked atomic.Int64

func (s storeOf) GetByKey(string) (any, bool, error)   { return s.pod, s.pod != nil, nil }
func (s storeOf) LastStoreSyncResourceVersion() string { return s.version }

// silentStore is that of a client-go before v0.36.
type silentStore struct{ Store }

func podOf(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", UID: "first", ResourceVersion: version,
	}}
}

func TestStoreThatCannotTellWaitsForTheTimeout(t *testing.T) {
	for name, store := range map[string]Store{
		"before v0.36":      silentStore{storeOf{podOf("8"), "20"}},
		"empty version":     storeOf{podOf("8"), ""},
		"version of a list": storeOf{podOf("8"), "0"},
		"another format":    storeOf{podOf("8"), "v20"},
		"lower version":     storeOf{podOf("8"), "9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core := newCore()
				h := newHandler(t, core.config(store))
				h.Wrote(podOf("10"))
				require.Equal(t, [][]string{{"seen a@10 first"}}, core.took())
				h.Expire()
				time.Sleep(time.Minute - 1)
				h.OnUpdate(podOf("7"), podOf("8"))
				require.Empty(t, core.took())
				time.Sleep(time.Nanosecond)
				h.OnUpdate(podOf("7"), podOf("8"))
				require.Equal(t, [][]string{{"seen a@8 first"}}, core.took())
				require.Empty(t, h.own.of)
			})
		})
	}
}

// lateStore is that of an informer whose watch is late.
type lateStore struct {
	storeOf

	received *int
}

func (s lateStore) LastSyncResourceVersion() string { return strconv.Itoa(*s.received) }

// What a late watch delivers is older than the write, for minutes. Only after
// the informer has reached the write may it be missing there.
func TestALateWatchSaysNothingAboutAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, received := newCore(), 100
		h := newHandler(t, core.config(silentStore{lateStore{storeOf{pod: podOf("8")}, &received}}))
		h.Wrote(podOf("1000"))
		core.took()
		for range 9 {
			time.Sleep(time.Minute)
			received++
			h.OnUpdate(podOf("7"), podOf("8"))
			require.Empty(t, core.took())
		}
		received = 1000
		h.Expire()
		time.Sleep(time.Minute - 1)
		h.OnUpdate(podOf("7"), podOf("8"))
		require.Empty(t, core.took())
		time.Sleep(time.Nanosecond)
		h.Expire()
		require.Equal(t, [][]string{{"seen a@8 first"}}, core.took())
	})
}

// An informer that was behind a restored backup does not go back, and reaches no
// write from before it for long. A watch is not trusted to be that late.
func TestAWriteThatTheInformerDoesNotReachEnds(t *testing.T) {
	for name, test := range map[string]struct {
		receives int
		after    time.Duration
	}{
		"it goes back":        {50, time.Minute},
		"it is behind so far": {101, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, received := newCore(), 100
				h := newHandler(t, core.config(silentStore{lateStore{storeOf{pod: podOf("8")}, &received}}))
				h.Wrote(podOf("1000"))
				core.took()
				began := time.Now()
				received = test.receives
				for len(h.own.of) > 0 {
					h.Expire()
					time.Sleep(time.Second)
					if test.after > time.Minute {
						received++
					}
				}
				require.InDelta(t, test.after.Seconds(), time.Since(began).Seconds(), 2)
				require.Equal(t, [][]string{{"seen a@8 first"}}, core.took())
			})
		})
	}
}

// Versions were raised on purpose when the backup was restored.
func TestStoreThatHasLostOurWriteIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{podOf("8"), "1000000008"}))
		h.Wrote(podOf("10"))
		h.OnUpdate(podOf("6"), podOf("8"))
		require.Equal(t, [][]string{{"seen a@10 first"}, {"seen a@8 first"}}, core.took())
		require.Empty(t, h.own.of)
	})
}

func TestReportsWhoseVersionsDoNotCompareAreBelieved(t *testing.T) {
	for _, version := range []string{"", "0", "abc", "-1", "010"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core := newCore()
				h := newHandler(t, core.config(storeOf{podOf("8"), "8"}))
				h.Wrote(podOf("10"))
				h.OnUpdate(podOf("8"), podOf(version))
				require.Equal(t,
					[][]string{{"seen a@10 first"}, {"seen a@" + version + " first"}}, core.took())
				require.Empty(t, h.own.of)
				h.Wrote(podOf(version))
				require.Equal(t, [][]string{{"seen a@8 first"}}, core.took(), "it may be older")
			})
		})
	}
}

// Memory is bounded by the writes of one timeout, and a report ends a few.
func TestWritesAreForgottenInBoundedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{}))
		const writes = 1000
		for i := range writes {
			pod := podOf("10")
			pod.Name = "b" + strconv.Itoa(i)
			h.Wrote(pod)
		}
		h.Expire()
		require.Len(t, h.own.of, writes)
		time.Sleep(time.Minute)
		h.OnAdd(podOf("9"), false)
		require.Len(t, h.own.of, writes-endedAtOnce)
		for range writes / endedAtOnce {
			h.Expire()
		}
		require.Empty(t, h.own.of)
	})
}

// A clock that goes back does not prolong the timeout.
func TestTimeThatGoesBackDoesNotProlongTheTimeout(t *testing.T) {
	now := noon.Add(100 * time.Second)
	core := newCore()
	config := core.config(storeOf{podOf("8"), ""})
	config.Update = func(turn func(now time.Time)) { core.update(func(time.Time) { turn(now) }) }
	h := newHandler(t, config)
	h.Wrote(otherPod("10"))
	h.Expire()
	now = noon
	h.Wrote(podOf("10"))
	h.Expire()
	now = noon.Add(159 * time.Second)
	h.OnAdd(podOf("9"), false)
	require.Len(t, core.turns, 2, "recorded at 100")
	now = noon.Add(160 * time.Second)
	h.OnAdd(podOf("9"), false)
	require.Equal(t, "seen a@9 first", core.turns[2][0])
}

func TestDeletionForgetsTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{}))
		h.Wrote(podOf("10"))
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: podOf("8")})
		require.Equal(t, [][]string{{"seen a@10 first"}, {"gone a@8 first"}}, core.took())
		require.Empty(t, h.own.of)
	})
}

func TestReportsOfNothingChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{}))
		unknown := cache.DeletedFinalStateUnknown{Key: "shop/a"}
		for _, object := range []any{nil, unknown, &corev1.Event{}} {
			h.OnAdd(object, false)
			h.OnUpdate(object, object)
			h.OnDelete(object)
		}
		require.Empty(t, core.took())
		h.OnUpdate(nil, podOf("1"))
		require.Equal(t, [][]string{{"seen a@1 first"}}, core.took(),
			"an update of nothing is still seen")
	})
}

func TestInvalidConfigIsRefused(t *testing.T) {
	_, err := NewHandler(Config[*corev1.Pod]{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, problem := range []string{
		"Config.Update is nil", "Config.Seen is nil", "Config.Gone is nil",
	} {
		require.ErrorContains(t, err, problem)
	}
}

func otherPod(version string) *corev1.Pod {
	pod := podOf(version)
	pod.Name, pod.UID = "b", "second"
	return pod
}

func TestAnyReportOrWriteEndsWrites(t *testing.T) {
	for name, end := range map[string]func(h *Handler[*corev1.Pod]){
		"addition": func(h *Handler[*corev1.Pod]) { h.OnAdd(otherPod("10"), false) },
		"update":   func(h *Handler[*corev1.Pod]) { h.OnUpdate(otherPod("9"), otherPod("10")) },
		"deletion": func(h *Handler[*corev1.Pod]) { h.OnDelete(otherPod("10")) },
		"tombstone": func(h *Handler[*corev1.Pod]) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/b", Obj: otherPod("10")})
		},
		"write":            func(h *Handler[*corev1.Pod]) { h.Wrote(podOf("11")) },
		"deletion of ours": func(h *Handler[*corev1.Pod]) { h.Deleted(podOf("11")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, newCore().config(storeOf{}))
				ours := podOf("10")
				ours.Name = "c"
				h.Wrote(ours)
				h.Expire()
				time.Sleep(time.Minute)
				end(h)
				require.NotContains(t, h.own.of, nameOf(ours))
			})
		})
	}
}
