package feed

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// server has pods, and one watch that shows their changes when told to.
type server struct {
	mu      sync.Mutex
	version int
	pods    map[string]*corev1.Pod
	watch   *watch.FakeWatcher
	late    []watch.Event
}

func newServer() *server { return &server{pods: map[string]*corev1.Pod{}} }

// write creates or changes a pod, and returns what the server answers.
func (s *server) write(name string, uid types.UID) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	kind := watch.Modified
	if s.pods[name] == nil {
		kind = watch.Added
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: uid, ResourceVersion: strconv.Itoa(s.version),
	}}
	s.pods[name] = pod
	s.late = append(s.late, watch.Event{Type: kind, Object: pod})
	return pod.DeepCopy()
}

func (s *server) delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	last := s.pods[name].DeepCopy()
	last.ResourceVersion = strconv.Itoa(s.version)
	delete(s.pods, name)
	s.late = append(s.late, watch.Event{Type: watch.Deleted, Object: last})
}

// show sends that many of the changes that the watch has not shown yet.
func (s *server) show(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.late[:n] {
		s.watch.Action(event.Type, event.Object)
	}
	s.late = s.late[n:]
}

// bookmark shows how far the server is.
func (s *server) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++ // the server has more than pods
	s.watch.Action(watch.Bookmark, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(s.version)},
	})
}

// drop loses what the watch has not shown, while the watch goes on.
func (s *server) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = nil
}

// breakWatch loses what the watch has not shown. The informer has to list.
func (s *server) breakWatch() {
	s.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++ // or the informer could go on where it was
	s.watch.Stop()
}

// backup returns what brings the server back to what it has now.
func (s *server) backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, pods := s.version, maps.Clone(s.pods)
	return func() {
		s.drop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.version, s.pods = version, pods
		s.watch.Stop()
	}
}

// informer lists and watches the pods.
func (s *server) informer() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(listWatch{&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			pods := &corev1.PodList{}
			pods.ResourceVersion = strconv.Itoa(s.version)
			for _, pod := range s.pods {
				pods.Items = append(pods.Items, *pod)
			}
			s.late = nil
			return pods, nil
		},
		WatchFuncWithContext: func(
			_ context.Context, options metav1.ListOptions,
		) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if options.ResourceVersion != strconv.Itoa(s.version) {
				return nil, apierrors.NewResourceExpired("too old")
			}
			s.watch = watch.NewFakeWithChanSize(100, false)
			return s.watch, nil
		},
	}}, &corev1.Pod{}, 0, cache.Indexers{})
}

// listWatch makes the informer list, by the method that client-go asks for.
type listWatch struct{ *cache.ListWatch }

func (listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// run runs an informer until the test ends.
func run(t *testing.T, informer cache.SharedIndexInformer) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
}
