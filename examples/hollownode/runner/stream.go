package runner

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// errStreamEnded tells that a stream has ended before it was complete.
var errStreamEnded = errors.New("stream of pods has ended before its bookmark")

// podWatcher watches pods. The typed client of client-go is one.
type podWatcher interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// streamPods has the pods of a node streamed, as a kubelet that starts does.
// Their bookmark ends the stream, because the informer has the pods already.
// Source: Reflector.watchList of client-go v0.37, whose options these are.
func streamPods(ctx context.Context, pods podWatcher, node string) error {
	stream, err := pods.Watch(ctx, metav1.ListOptions{
		FieldSelector:        fields.OneTermEqualSelector("spec.nodeName", node).String(),
		AllowWatchBookmarks:  true,
		SendInitialEvents:    ptr.To(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-stream.ResultChan():
			switch pod, isPod := event.Object.(*corev1.Pod); {
			case !open:
				return errStreamEnded
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			case event.Type == watch.Bookmark && isPod && pod.Annotations[metav1.InitialEventsAnnotationKey] == "true":
				return nil
			}
		}
	}
}
