package sidebyside

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
)

// Caches shows the cluster to the script by the informers that choose asks a
// factory for. They have a connection of their own. Caches returns when they
// show all that there is. The caller stops them.
func (s *Stage) Caches(
	ctx context.Context, choose func(informers.SharedInformerFactory),
) (stop func(), err error) {
	client, err := s.ClientOf("script-watch")
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trimmed))
	choose(factory)
	watching, cancel := context.WithCancel(ctx)
	stop = func() {
		cancel()
		factory.Shutdown()
	}
	factory.Start(watching.Done())
	factory.WaitForCacheSync(watching.Done())
	if ctx.Err() != nil {
		stop()
		return nil, context.Cause(ctx)
	}
	return stop, nil
}

// trimmed is the transform of the caches. Which client has written which field
// would be the larger part of them.
func trimmed(object any) (any, error) {
	if of, is := object.(metav1.Object); is {
		of.SetManagedFields(nil)
	}
	return object, nil
}
