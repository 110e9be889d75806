package hollow

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// template is a pod like those of a Deployment, with one container.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.invalid/main:1",
		}}},
	}
}

// create creates a pod on a node.
func (c *cluster) create(ctx context.Context, app, name, node string) error {
	of := template(app)
	of.Spec.NodeName = node
	_, err := c.Client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: of.Labels}, Spec: of.Spec,
	}, metav1.CreateOptions{})
	return err
}

// fill creates pods, spread over the nodes.
func (c *cluster) fill(ctx context.Context, app string, pods, nodes int) error {
	return sidebyside.Each(ctx, pods, func(ctx context.Context, i int) error {
		return c.create(ctx, app, podName(app, i), nodeName(i%nodes))
	})
}

func podName(app string, i int) string { return fmt.Sprintf("%s-%06d", app, i) }

// empty deletes what fill has created, with the grace period of the pods.
func (c *cluster) empty(ctx context.Context, app string, pods int) error {
	return sidebyside.Each(ctx, pods, func(ctx context.Context, i int) error { return c.remove(ctx, podName(app, i)) })
}

func (c *cluster) remove(ctx context.Context, name string) error {
	return c.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

func (c *cluster) podsOf(app string) ([]*corev1.Pod, error) {
	return c.pods.List(labels.SelectorFromSet(labels.Set{"app": app}))
}

// showsReady reports whether a pod is there and ready.
func (c *cluster) showsReady(name string) (bool, error) {
	pod, err := c.pods.Get(name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && isReady(pod), err
}

// showsGone reports whether a pod is not there.
func (c *cluster) showsGone(name string) (bool, error) {
	_, err := c.pods.Get(name)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
