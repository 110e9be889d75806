package feed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

func (c *core) observe(turn func(now time.Time)) {
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
		Observe: c.observe,
		Seen:    func(_ time.Time, pod *corev1.Pod) { c.record("seen", pod) },
		Gone:    func(_ time.Time, pod *corev1.Pod) { c.record("gone", pod) },
		Store:   store,
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
type tellingStore struct {
	cache.Store
	informer cache.SharedIndexInformer
}

func (s tellingStore) LastStoreSyncResourceVersion() string {
	return s.informer.LastSyncResourceVersion()
}

func storeThatTells(informer cache.SharedIndexInformer) Store {
	var store any = informer.GetStore()
	if tells, ok := store.(interface {
		Store
		LastStoreSyncResourceVersion() string
	}); ok {
		return tells
	}
	return tellingStore{informer.GetStore(), informer}
}

func storeThatCannotTell(informer cache.SharedIndexInformer) Store {
	return silentStore{informer.GetStore()}
}

// inWorld runs a test in a world of pod a, version 1, which the core has seen.
// The informer's store tells how far it is.
func inWorld(t *testing.T, test func(t *testing.T, w world)) {
	inWorldOf(t, storeThatTells, test)
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
		time.Sleep(time.Minute)
		require.Equal(t, [][]string{{"gone a@1 first", "seen a@4 second"}}, w.took())
		require.Empty(t, w.own.byObject)
	})
}

func TestReportsFromBeforeOurWriteAreWithheld(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		w.Wrote(w.write("a", "first"))
		w.write("b", "second")
		w.show(1)
		require.Empty(t, w.took(), "version 2 lacks what we have written")
		w.show(1)
		require.Equal(t, [][]string{{"seen a@3 first"}}, w.took())
		require.Empty(t, w.own.byObject, "reports have reached the write")
		w.show(1)
		require.Equal(t, [][]string{{"seen b@4 second"}}, w.took())
	})
}

func TestStoreThatHasPassedOurWriteIsAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		w.Wrote(w.write("a", "first"))
		w.write("a", "first")
		w.acquire() // the core is busy while the store goes on
		w.show(3)
		synctest.Wait()
		w.release()
		require.Equal(t,
			[][]string{{"seen a@4 first"}, {"seen a@4 first"}, {"seen a@4 first"}}, w.took(),
			"no report takes the core back")
		require.Empty(t, w.own.byObject)
	})
}

func TestWithAStoreThatCannotTellReportsReachOurWrite(t *testing.T) {
	inWorldOf(t, storeThatCannotTell, func(t *testing.T, w world) {
		w.write("a", "first")
		w.Wrote(w.write("a", "first"))
		w.write("a", "first")
		w.acquire()
		w.show(3)
		synctest.Wait()
		w.release()
		require.Equal(t, [][]string{{"seen a@3 first"}, {"seen a@4 first"}}, w.took(),
			"version 2 lacks what we have written")
		require.Empty(t, w.own.byObject)
	})
}

func TestObjectThatTheStoreHasNoMoreIsNotSeenAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		w.Wrote(w.write("a", "first"))
		w.delete("a")
		w.write("a", "second")
		w.acquire()
		w.show(4)
		synctest.Wait()
		w.release()
		require.Equal(t,
			[][]string{{"seen a@3 first"}, {"gone a@4 first"}, {"seen a@5 second"}}, w.took())
	})
}

// The watch goes on, and has lost our write and what follows it.
func TestLostWriteEndsWhenReportsPassIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.Wrote(w.write("a", "first"))
		w.drop()
		w.write("b", "second")
		w.show(1)
		require.Equal(t, [][]string{{"seen b@3 second", "seen a@1 first"}}, w.took())
		require.Empty(t, w.own.byObject)
	})
}

// The versions of a restored API server lie before that of our write.
func TestRelistToALowerVersionWaitsForTheTimeout(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.write("a", "first")
		restore := w.backup()
		w.show(1)
		w.write("c", "third")
		w.show(1)
		require.Len(t, w.took(), 2)
		w.Wrote(w.write("a", "first"))
		w.show(1)
		require.Equal(t, [][]string{{"seen a@4 first"}}, w.took())
		w.Wrote(w.write("a", "first")) // version 5
		restore()
		time.Sleep(30 * time.Second)
		require.Equal(t, [][]string{{"gone c@3 third"}}, w.took(), "a@2 is withheld")

		w.write("b", "second") // version 3 again
		w.show(1)
		require.Equal(t, [][]string{{"seen b@3 second"}}, w.took(), "version 3 is not past version 5")
		time.Sleep(30 * time.Second)
		w.write("b", "second")
		w.show(1)
		require.Equal(t, [][]string{{"seen b@4 second", "seen a@2 first"}}, w.took(),
			"the withheld report is made up for")
		require.Empty(t, w.own.byObject)
	})
}

// storeOf is a store of one pod which knows a version.
type storeOf struct {
	pod     *corev1.Pod
	version string
}

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
		"no store":          nil,
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
				time.Sleep(time.Minute - 1)
				h.OnUpdate(podOf("7"), podOf("8"))
				require.Empty(t, core.took())
				time.Sleep(time.Nanosecond)
				h.OnUpdate(podOf("7"), podOf("8"))
				require.Equal(t, [][]string{{"seen a@8 first"}}, core.took())
				require.Empty(t, h.own.byObject)
			})
		})
	}
}

func TestStoreThatHasLostOurWriteIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{podOf("8"), "10"}))
		h.Wrote(podOf("10"))
		h.OnUpdate(podOf("6"), podOf("7"))
		require.Equal(t, [][]string{{"seen a@8 first"}}, core.took())
		require.Empty(t, h.own.byObject)
	})
}

func TestReportsWhoseVersionsDoNotCompareAreBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{podOf("x"), "x"}))
		h.Wrote(podOf("10"))
		h.OnUpdate(podOf("8"), podOf("x"))
		h.Wrote(podOf("y"))
		h.OnUpdate(podOf("x"), podOf("x"))
		require.Equal(t, [][]string{{"seen a@x first"}, {"seen a@x first"}}, core.took())
	})
}

// Memory is bounded by the writes of one timeout, and a report ends a few.
func TestWritesAreForgottenInBoundedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(nil))
		const writes = 1000
		for i := range writes {
			pod := podOf("10")
			pod.UID = types.UID(rune('a' + i))
			h.Wrote(pod)
		}
		require.Len(t, h.own.byObject, writes)
		h.OnAdd(podOf("9"), false)
		require.Len(t, h.own.byObject, writes, "version 9 reaches none")
		h.OnAdd(podOf("10"), false)
		require.Len(t, h.own.byObject, writes-endedAtOnce)
		time.Sleep(time.Minute)
		for range writes / endedAtOnce {
			h.OnAdd(podOf("9"), false)
		}
		require.Empty(t, h.own.byObject)
	})
}

func TestDeletionForgetsTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(nil))
		h.Wrote(podOf("10"))
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: podOf("8")})
		require.Equal(t, [][]string{{"gone a@8 first"}}, core.took())
		require.Empty(t, h.own.byObject)
	})
}

func TestReportsOfNothingChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(nil))
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
	_, err := NewHandler(Config[*corev1.Pod]{OwnWriteTimeout: -1})
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, problem := range []string{
		"Config.Observe is nil", "Config.Seen is nil", "Config.Gone is nil",
		"Config.OwnWriteTimeout is -1ns",
	} {
		require.ErrorContains(t, err, problem)
	}
}

func otherPod(version string) *corev1.Pod {
	pod := podOf(version)
	pod.Name, pod.UID = "b", "second"
	return pod
}

// The store is ahead of the reports. What it has now would be followed by older
// ones.
func TestReachedWriteDoesNotShowWhatIsStillToBeReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newCore()
		h := newHandler(t, core.config(storeOf{podOf("13"), "20"}))
		h.Wrote(podOf("10"))
		h.OnAdd(otherPod("11"), false)
		h.OnUpdate(podOf("10"), podOf("12"))
		h.OnUpdate(podOf("12"), podOf("13"))
		require.Equal(t,
			[][]string{{"seen b@11 second"}, {"seen a@12 first"}, {"seen a@13 first"}}, core.took())
	})
}

func TestAnyReportOrWriteEndsWrites(t *testing.T) {
	for name, end := range map[string]func(h *Handler[*corev1.Pod]){
		"addition": func(h *Handler[*corev1.Pod]) { h.OnAdd(otherPod("10"), false) },
		"update":   func(h *Handler[*corev1.Pod]) { h.OnUpdate(otherPod("9"), otherPod("10")) },
		"deletion": func(h *Handler[*corev1.Pod]) { h.OnDelete(otherPod("10")) },
		"tombstone": func(h *Handler[*corev1.Pod]) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/b", Obj: otherPod("10")})
		},
		"write after the timeout": func(h *Handler[*corev1.Pod]) {
			time.Sleep(time.Minute)
			h.Wrote(otherPod("")) // which is not remembered
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, newCore().config(nil))
				h.Wrote(podOf("10"))
				end(h)
				require.Empty(t, h.own.byObject)
			})
		})
	}
}
