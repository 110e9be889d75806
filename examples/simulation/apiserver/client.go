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

// Create creates an object.
func (c Client) Create(resource schema.GroupVersionResource, created runtime.Object) error {
	_, err := c.Server.Create(c.Now(), resource, c.key(resource, "").Namespace, created, WriteOptions{})
	return wrapped(err, "create", resource)
}

// Patch patches an object, or a subresource if one is named.
func (c Client) Patch(
	resource schema.GroupVersionResource, name string, as types.PatchType, patch []byte, subresource ...string,
) error {
	options := WriteOptions{}
	if len(subresource) > 0 {
		options.Subresource = subresource[0]
	}
	_, err := c.Server.Patch(c.Now(), resource, c.key(resource, name), as, patch, options)
	return wrapped(err, "patch", resource)
}

// Delete deletes an object. Without a grace period it is the object's own.
func (c Client) Delete(resource schema.GroupVersionResource, name string, grace *int64) error {
	options := metav1.DeleteOptions{GracePeriodSeconds: grace}
	_, err := c.Server.Delete(c.Now(), resource, c.key(resource, name), options)
	return wrapped(err, "delete", resource)
}

func (c Client) key(resource schema.GroupVersionResource, name string) Key {
	if resource == corev1.SchemeGroupVersion.WithResource("nodes") {
		return Key{Name: name}
	}
	return Key{Namespace: c.Namespace, Name: name}
}

func wrapped(err error, verb string, resource schema.GroupVersionResource) error {
	if err != nil {
		return fmt.Errorf("%s one of %s: %w", verb, resource.Resource, err)
	}
	return nil
}
