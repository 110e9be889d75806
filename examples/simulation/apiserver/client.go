package apiserver

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Client sends requests at the time of a simulation, as a user does with
// kubectl. Objects that have a namespace are in that of the client.
type Client struct {
	Server    *Server
	Namespace string
	Now       func() time.Time
}

// Create creates objects, up to the first error.
func (c Client) Create(resource schema.GroupVersionResource, objects ...runtime.Object) error {
	for _, object := range objects {
		_, err := c.Server.Create(c.Now(), resource, c.key(resource, "").Namespace, object, WriteOptions{})
		if err != nil {
			return fmt.Errorf("create one of %s: %w", resource.Resource, err)
		}
	}
	return nil
}

// Patch sends a patch for each of the objects, up to the first error.
func (c Client) Patch(
	resource schema.GroupVersionResource, as types.PatchType, patch []byte, names ...string,
) error {
	for _, name := range names {
		_, err := c.Server.Patch(c.Now(), resource, c.key(resource, name), as, patch, WriteOptions{})
		if err != nil {
			return fmt.Errorf("patch one of %s: %w", resource.Resource, err)
		}
	}
	return nil
}

// Delete deletes objects with their own grace periods, up to the first error.
func (c Client) Delete(resource schema.GroupVersionResource, names ...string) error {
	for _, name := range names {
		_, err := c.Server.Delete(c.Now(), resource, c.key(resource, name), metav1.DeleteOptions{})
		if err != nil {
			return fmt.Errorf("delete one of %s: %w", resource.Resource, err)
		}
	}
	return nil
}

func (c Client) key(resource schema.GroupVersionResource, name string) Key {
	if resource == corev1.SchemeGroupVersion.WithResource("nodes") {
		return Key{Name: name}
	}
	return Key{Namespace: c.Namespace, Name: name}
}
