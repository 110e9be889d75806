package virtualtime

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// scene is a watch, its log, and what its handler was told.
type scene struct {
	*Timeline

	log   Log
	watch *Watch
	told  []string
	shown int
}

func newScene() *scene {
	s := &scene{Timeline: NewTimeline(begin)}
	text := func(object any) string {
		switch object := object.(type) {
		case *corev1.Pod:
			return object.Name + "=" + object.ResourceVersion
		case cache.DeletedFinalStateUnknown:
			return "unknown " + object.Key
		default:
			return "?"
		}
	}
	tell := func(format string, args ...any) {
		s.told = append(s.told, s.Elapsed().String()+" "+fmt.Sprintf(format, args...))
	}
	s.watch = &Watch{Timeline: s.Timeline, Log: &s.log, Shown: func() { s.shown++ },
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(object any, first bool) { tell("add %s first=%v", text(object), first) },
			UpdateFunc: func(before, after any) { tell("update %s to %s", text(before), text(after)) },
			DeleteFunc: func(object any) { tell("delete %s", text(object)) },
		}}
	return s
}

func pod(name string, version uint64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, ResourceVersion: fmt.Sprint(version),
	}}
}

// store adds a change of a pod. One that ends has no state after it.
func (s *scene) store(name string, ends bool) Change {
	version := uint64(len(s.log) + 1)
	change := Change{Version: version, At: s.Now()}
	if before := s.log.StateAt(version)["ns/"+name]; before != nil {
		change.Before = before
	}
	if !ends {
		change.After = pod(name, version)
	}
	s.log = append(s.log, change)
	return change
}

// pass lets a time pass, and returns what was told in it.
func (s *scene) pass(time time.Duration) []string {
	s.told = nil
	s.Run(s.Elapsed()+time, 1000)
	return s.told
}

func none() time.Duration { return 0 }

func TestAWatchShowsChangesInOrderAfterTheirDelays(t *testing.T) {
	s := newScene()
	s.watch.List(1, none)
	s.watch.Show(s.store("a", false), 5*time.Second)
	s.watch.Show(s.store("a", false), time.Second)
	s.watch.Show(s.store("a", true), 7*time.Second)
	assert.Equal(t, []string{"5s add a=1 first=false", "5s update a=1 to a=2"}, s.pass(6*time.Second),
		"no change overtakes another")
	assert.EqualValues(t, 2, s.watch.Version())
	assert.Equal(t, "2", s.watch.LastStoreSyncResourceVersion())
	stored, found, err := s.watch.GetByKey("ns/a")
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, pod("a", 2), stored)
	assert.Equal(t, []string{"7s delete a=2"}, s.pass(time.Second))
	assert.Empty(t, s.watch.Objects())
	assert.Equal(t, 4, s.shown, "the list and three changes")
}

func TestABrokenWatchMissesAllAndListsTheDifference(t *testing.T) {
	s := newScene()
	for _, name := range []string{"stays", "goes"} {
		s.store(name, false)
	}
	s.watch.List(2, none)
	assert.Equal(t, []string{"0s add goes=2 first=true", "0s add stays=1 first=true"}, s.told)
	s.watch.Show(s.store("late", false), time.Second)
	s.watch.Break()
	assert.True(t, s.watch.Broken())
	s.watch.Show(s.store("goes", true), time.Second)
	s.watch.Show(s.store("missed", false), time.Second)
	assert.Empty(t, s.pass(time.Minute), "also what it had not shown yet")

	s.told = nil
	s.watch.List(4, func() time.Duration { return 2 * time.Second })
	assert.False(t, s.watch.Broken())
	assert.Equal(t, []string{
		"1m0s add late=3 first=true", "1m0s update stays=1 to stays=1", "1m0s delete unknown ns/goes",
	}, s.told)
	assert.Equal(t, []string{"1m2s add missed=5 first=false"}, s.pass(time.Minute), "what is newer than the list")
}

// A change that a list has shown already is not shown again.
func TestAListReplacesWhatWaits(t *testing.T) {
	s := newScene()
	s.watch.List(1, none)
	s.watch.Show(s.store("a", false), time.Minute)
	s.watch.List(1, none)
	assert.Equal(t, []string{"0s add a=1 first=true"}, s.told)
	assert.Empty(t, s.pass(time.Hour))
}

func TestAClosedWatchShowsNothing(t *testing.T) {
	s := newScene()
	s.watch.Show(s.store("a", false), time.Second)
	s.watch.Close()
	s.watch.Show(s.store("b", false), time.Second)
	assert.Empty(t, s.pass(time.Minute))
	s.watch.Break()
	assert.False(t, s.watch.Broken(), "it is over")
}

func TestAStoreHasWhatTheTransformLeaves(t *testing.T) {
	s := newScene()
	s.watch.Transform = func(object metav1.Object) metav1.Object { return pod("trimmed-"+object.GetName(), 0) }
	s.watch.List(1, none)
	s.watch.Show(s.store("a", false), 0)
	assert.Equal(t, []string{"0s add trimmed-a=0 first=false"}, s.pass(time.Second))
	assert.Equal(t, []metav1.Object{pod("trimmed-a", 0)}, s.watch.Objects())
}

func TestALogKnowsItsStates(t *testing.T) {
	s := newScene()
	assert.EqualValues(t, 1, s.log.VersionAt(s.Now()), "nothing was stored")
	s.store("a", false)
	s.pass(time.Second)
	s.store("b", false)
	s.store("a", true)
	assert.EqualValues(t, 1, s.log.VersionAt(begin))
	assert.EqualValues(t, 3, s.log.VersionAt(begin.Add(time.Second)))
	assert.EqualValues(t, 1, s.log.VersionAt(begin.Add(-time.Second)))
	assert.Equal(t, map[string]metav1.Object{"ns/a": pod("a", 1), "ns/b": pod("b", 2)}, s.log.StateAt(2))
	assert.Equal(t, map[string]metav1.Object{"ns/b": pod("b", 2)}, s.log.StateAt(9))
	assert.Empty(t, s.log.StateAt(0))
}
