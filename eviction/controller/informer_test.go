package controller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// An observer writes down what it is told.
type observer struct {
	told                      []string
	nodesCurrent, podsCurrent int
}

func (o *observer) tell(what string) { o.told = append(o.told, what) }

func (o *observer) ObserveNode(_ time.Time, node *corev1.Node) { o.tell("see node " + node.Name) }
func (o *observer) ForgetNode(_ time.Time, name string)        { o.tell("forget node " + name) }
func (o *observer) NodesCurrent(time.Time)                     { o.nodesCurrent++ }
func (o *observer) ObservePod(_ time.Time, pod *corev1.Pod)    { o.tell("see pod " + pod.Name) }
func (o *observer) ForgetPod(_ time.Time, id types.UID)        { o.tell("forget " + string(id)) }
func (o *observer) PodsCurrent(time.Time)                      { o.podsCurrent++ }
func (o *observer) MarkSynced()                                { o.tell("synced") }

// E2: an Informer does the caller duties of package eviction. It
// reports objects, their ends, the end of the first lists, and live watches.
func TestE2InformerDoesTheCallersDuties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(nodeOf("a"), podOn("a", "web"))
		watches := map[string]*watch.FakeWatcher{
			"nodes": watch.NewFakeWithChanSize(10, false), "pods": watch.NewFakeWithChanSize(10, false),
		}
		client.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
			return true, watches[a.GetResource().Resource], nil
		})
		var alone sync.Mutex
		o := &observer{}
		i, err := NewInformer(InformerConfig{
			Factory: informers.NewSharedInformerFactory(client, 0), Tracker: o,
			Update: func(change func()) {
				alone.Lock()
				defer alone.Unlock()
				change()
			},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ready, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			i.Run(ctx, func() { ready = true })
		}()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.True(t, ready)
		require.ElementsMatch(t, []string{"see node a", "see pod web", "synced"}, o.told)
		require.Equal(t, "synced", o.told[2])

		// Each event says that its watch is alive, and so does a bookmark.
		for _, step := range []struct {
			resource    string
			event       watch.EventType
			object      runtime.Object
			told        []string
			nodes, pods int
		}{
			{"nodes", watch.Added, versioned(nodeOf("b"), "50"), []string{"see node b"}, 2, 0},
			{"nodes", watch.Deleted, versioned(nodeOf("a"), "51"), []string{"forget node a"}, 2, 0},
			{"pods", watch.Added, versioned(podOn("b", "late"), "52"), []string{"see pod late"}, 0, 2},
			{"pods", watch.Deleted, versioned(podOn("a", "web"), "53"), []string{"forget web-uid"}, 0, 2},
			{"nodes", watch.Bookmark, versioned(nodeOf(""), "54"), nil, 1, 0},
			{"pods", watch.Bookmark, versioned(podOn("", ""), "55"), nil, 0, 1},
		} {
			o.told, o.nodesCurrent, o.podsCurrent = nil, 0, 0
			watches[step.resource].Action(step.event, step.object)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, step.told, o.told, "%v", step)
			require.Equal(t, step.nodes, o.nodesCurrent, "one for the event, one for the version: %v", step)
			require.Equal(t, step.pods, o.podsCurrent, "one for the event, one for the version: %v", step)
		}
		stop()
		<-ended
	})
}

func versioned[T metav1.Object](object T, version string) T {
	object.SetResourceVersion(version)
	return object
}
