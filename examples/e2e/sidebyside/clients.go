package sidebyside

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Protobuf returns access that costs two crowded cores less than JSON.
func Protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// ClientOf returns the client of a user, on a connection of its own.
func (s *Stage) ClientOf(user string) (kubernetes.Interface, error) {
	config, err := s.Access(user)
	if err != nil {
		return nil, err
	}
	config = Protobuf(config)
	config.UserAgent = user
	return kubernetes.NewForConfig(config)
}

// Caches shows the cluster to the script by the informers that choose asks a
// factory for. They have a connection of their own, and last as long as
// the play. Caches returns when they show all that there is.
func (s *Stage) Caches(ctx context.Context, choose func(informers.SharedInformerFactory)) error {
	client, err := s.ClientOf("script-watch")
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trimmed))
	choose(factory)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // that may be of one step
	s.AtEnd(func() error {
		stop()
		factory.Shutdown()
		return nil
	})
	factory.Start(watching.Done())
	factory.WaitForCacheSync(ctx.Done())
	return context.Cause(ctx)
}

// trimmed is the transform of the caches. Which client has written which field
// would be the larger part of them.
func trimmed(object any) (any, error) {
	if of, is := object.(metav1.Object); is {
		of.SetManagedFields(nil)
	}
	return object, nil
}
