package runner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// streaming is a client of pods with one stream.
type streaming struct {
	stream  *watch.FakeWatcher
	options metav1.ListOptions
}

func (s *streaming) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.options = options
	return s.stream, nil
}

// A kubelet streams its pods when it starts, as reflectors do. It lists none.
func TestAKubeletThatStartsStreamsItsPods(t *testing.T) {
	begin := func(events ...watch.Event) error {
		client := &streaming{stream: watch.NewFakeWithChanSize(len(events), false)}
		for _, event := range events {
			client.stream.Action(event.Type, event.Object)
		}
		if len(events) == 1 {
			client.stream.Stop()
		}
		err := streamPods(t.Context(), client, "node")
		assert.True(t, client.stream.IsStopped())
		assert.Equal(t, metav1.ListOptions{
			FieldSelector: "spec.nodeName=node", AllowWatchBookmarks: true, SendInitialEvents: ptr.To(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}, client.options)
		return err
	}
	complete := &corev1.Pod{}
	complete.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	added := watch.Event{Type: watch.Added, Object: &corev1.Pod{}}
	early := watch.Event{Type: watch.Bookmark, Object: &corev1.Pod{}}
	require.NoError(t, begin(added, early, watch.Event{Type: watch.Bookmark, Object: complete}))
	require.ErrorIs(t, begin(added), errStreamEnded)
	refused := &metav1.Status{Status: metav1.StatusFailure, Message: "too old"}
	require.ErrorContains(t, begin(added, watch.Event{Type: watch.Error, Object: refused}), "too old")
}
