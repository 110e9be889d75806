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
type observer struct{ told []string }

func (o *observer) tell(what string) { o.told = append(o.told, what) }

func (o *observer) ObserveNode(_ time.Time, node *corev1.Node) { o.tell("see node " + node.Name) }
func (o *observer) ForgetNode(_ time.Time, name string)        { o.tell("forget node " + name) }
func (o *observer) ObservePod(_ time.Time, pod *corev1.Pod)    { o.tell("see pod " + pod.Name) }
func (o *observer) ForgetPod(_ time.Time, id types.UID)        { o.tell("forget " + string(id)) }
func (o *observer) MarkSynced()                                { o.tell("synced") }

// E2: an Informer does the caller duties of package eviction. It
// reports objects, their ends, and the end of the first lists.
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

		for _, step := range []struct {
			resource string
			event    watch.EventType
			object   runtime.Object
			told     []string
		}{
			{"nodes", watch.Added, versioned(nodeOf("b"), "50"), []string{"see node b"}},
			{"nodes", watch.Deleted, versioned(nodeOf("a"), "51"), []string{"forget node a"}},
			{"pods", watch.Added, versioned(podOn("b", "late"), "52"), []string{"see pod late"}},
			{"pods", watch.Deleted, versioned(podOn("a", "web"), "53"), []string{"forget web-uid"}},
			{"nodes", watch.Bookmark, versioned(nodeOf(""), "54"), nil},
		} {
			o.told = nil
			watches[step.resource].Action(step.event, step.object)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, step.told, o.told, "%v", step)
		}
		stop()
		<-ended
	})
}

func versioned[T metav1.Object](object T, version string) T {
	object.SetResourceVersion(version)
	return object
}
