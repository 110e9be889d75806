package feed

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

var noon = time.Date(2031, 2, 3, 12, 0, 0, 0, time.UTC)

// history is an API server, an informer whose watch is late, and a core that
// believes what it is shown.
type history struct {
	*rand.Rand

	t        *testing.T
	now      time.Time
	version  int
	uids     int
	pods     map[string]*corev1.Pod // the API server's
	received int                    // the version that the informer has received
	events   []func()               // that the informer has not received
	store    map[string]*corev1.Pod
	reports  []func() // that the handler has not been called with
	answers  []func() // that have not arrived
	handler  *Handler[*corev1.Pod]

	seen     map[string]*corev1.Pod // by the core
	newest   map[types.UID]int      // that it has seen
	gone     map[types.UID]bool     // that it was told
	restored bool
}

func (h *history) GetByKey(key string) (any, bool, error) {
	pod, exists := h.store[key]
	return pod, exists, nil
}

func (h *history) LastSyncResourceVersion() string { return strconv.Itoa(h.received) }

// tellingHistory has a store that tells how far it is.
type tellingHistory struct {
	*history

	version *int // of the store
}

func (h tellingHistory) LastStoreSyncResourceVersion() string { return strconv.Itoa(*h.version) }

func newHistory(t *testing.T, random *rand.Rand) *history {
	t.Helper()
	h := &history{
		Rand: random, t: t, now: noon,
		pods: map[string]*corev1.Pod{}, store: map[string]*corev1.Pod{}, seen: map[string]*corev1.Pod{},
		newest: map[types.UID]int{}, gone: map[types.UID]bool{},
	}
	var store Store = h
	if h.IntN(2) == 0 {
		store = tellingHistory{h, new(int)}
	}
	var err error
	h.handler, err = NewHandler(Config[*corev1.Pod]{
		Update: func(turn func(now time.Time)) { turn(h.now) },
		Seen:   h.see, Gone: h.goes, Store: store,
	})
	require.NoError(t, err)
	return h
}

func (h *history) see(_ time.Time, pod *corev1.Pod) {
	version, err := strconv.Atoi(pod.ResourceVersion)
	require.NoError(h.t, err)
	if !h.restored {
		require.GreaterOrEqual(h.t, version, h.newest[pod.UID], "%s goes back", pod.UID)
		require.False(h.t, h.gone[pod.UID], "%s is back", pod.UID)
	}
	h.newest[pod.UID] = version
	h.seen[pod.Name] = pod
}

// goes is a core's that knows objects by name alone.
func (h *history) goes(_ time.Time, pod *corev1.Pod) {
	delete(h.seen, pod.Name)
	h.gone[pod.UID] = true
}

func (h *history) told(version int, apply func()) {
	h.events = append(h.events, func() {
		h.received = version
		apply()
	})
}

// reach has the store be at a version, if it tells.
func (h *history) reach(version int) {
	if store, tells := h.handler.config.Store.(tellingHistory); tells {
		*store.version = version
	}
}

// write creates or changes a pod.
func (h *history) write(name string) *corev1.Pod {
	h.version++
	version, before := h.version, h.pods[name]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.Itoa(version)}}
	if before != nil {
		pod.UID = before.UID
	} else {
		h.uids++
		pod.UID = types.UID(fmt.Sprintf("%s-%d", name, h.uids))
	}
	h.pods[name] = pod
	h.told(version, func() {
		former := h.store[name]
		h.store[name] = pod
		h.reach(version)
		h.reports = append(h.reports, func() { h.report(former, pod) })
	})
	return pod
}

func (h *history) report(before, after *corev1.Pod) {
	if before == nil {
		h.handler.OnAdd(after, false)
		return
	}
	h.handler.OnUpdate(before, after)
}

func (h *history) delete(name string) *corev1.Pod {
	h.version++
	version, last := h.version, h.pods[name].DeepCopy()
	last.ResourceVersion = strconv.Itoa(version)
	before := h.pods[name]
	delete(h.pods, name)
	h.told(version, func() {
		delete(h.store, name)
		h.reach(version)
		h.reports = append(h.reports, func() { h.handler.OnDelete(last) })
	})
	return before
}

// list has the informer list: it misses what it has not received.
func (h *history) list() {
	h.events = nil
	h.received = h.version
	before := h.store
	h.store = maps.Clone(h.pods)
	h.reach(h.version)
	for name, pod := range h.store {
		h.reports = append(h.reports, func() { h.report(before[name], pod) })
	}
	for name, pod := range before {
		if h.store[name] == nil {
			last := cache.DeletedFinalStateUnknown{Key: name, Obj: pod}
			h.reports = append(h.reports, func() { h.handler.OnDelete(last) })
		}
	}
}

// act does something that can happen.
func (h *history) act() {
	name := string(rune('a' + h.IntN(4)))
	ours := h.IntN(2) == 0
	answer := func(arrive func()) {
		if ours {
			h.answers = append(h.answers, arrive)
		}
	}
	switch h.IntN(8) {
	case 0, 1:
		written := h.write(name)
		answer(func() { h.handler.Wrote(written) })
	case 2:
		if h.pods[name] != nil {
			last := h.delete(name)
			answer(func() { h.handler.Deleted(last) })
		}
	case 3, 4:
		pop(&h.events)
	case 5, 6:
		pop(&h.reports)
	case 7:
		if len(h.answers) > 0 {
			at := h.IntN(len(h.answers))
			arrive := h.answers[at]
			h.answers = append(h.answers[:at], h.answers[at+1:]...)
			arrive()
		}
	}
}

func pop(all *[]func()) {
	if len(*all) > 0 {
		first := (*all)[0]
		*all = (*all)[1:]
		first()
	}
}

// settle lets everything arrive, then a bookmark, and the timeout pass.
func (h *history) settle() {
	for _, all := range []*[]func(){&h.answers, &h.events, &h.reports} {
		for len(*all) > 0 {
			pop(all)
		}
	}
	h.now = h.now.Add(latestWatch * ownWriteTimeout)
	h.version++
	h.received = h.version // a bookmark
	h.handler.Expire()
	h.now = h.now.Add(ownWriteTimeout)
	for len(h.handler.own.of) > 0 {
		h.handler.Expire()
	}
	require.Equal(h.t, h.store, h.seen)
	require.Empty(h.t, h.handler.own.of)
	require.Zero(h.t, h.handler.own.ahead.Len()+h.handler.own.ending.Len())
}

// While the watch is late by less than the timeout, no core goes back. In the
// end it has what the store has.
func TestRandomHistoriesNeverGoBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for run := range uint64(2_000) {
		play(t, newHistory(t, rand.New(rand.NewPCG(seed, run))))
	}
}

func play(t *testing.T, h *history) {
	t.Helper()
	for range h.IntN(200) {
		h.act()
		// Without a store that tells, the answer to a write may be newer than the
		// list that has shown the end of its object.
		if _, tells := h.handler.config.Store.(tellingHistory); tells && h.IntN(50) == 0 {
			for len(h.reports) > 0 {
				pop(&h.reports)
			}
			h.list()
		}
	}
	h.settle()
}

// After a restored backup, with versions that have gone back or were raised,
// the core has what the store has when the timeout is over.
func TestRandomRestoredBackupsAreBelieved(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for run := range uint64(2_000) {
		h := newHistory(t, rand.New(rand.NewPCG(seed, run)))
		h.restored = true
		version, backup := 0, map[string]*corev1.Pod{}
		for range h.IntN(300) {
			h.act()
			switch h.IntN(40) {
			case 0:
				version, backup = h.version, maps.Clone(h.pods)
			case 1:
				h.version, h.pods = version, maps.Clone(backup)
				if h.IntN(2) == 0 {
					h.version += 1_000_000
				}
				h.list()
			case 2:
				h.now = h.now.Add(time.Duration(h.IntN(120)) * time.Second)
			}
		}
		h.settle()
	}
}
