package hollow

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	return each(ctx, pods, func(ctx context.Context, i int) error {
		return c.create(ctx, app, podName(app, i), nodeName(i%nodes))
	})
}

func podName(app string, i int) string { return fmt.Sprintf("%s-%06d", app, i) }

// empty deletes what fill has created, with the grace period of the pods.
func (c *cluster) empty(ctx context.Context, app string, pods int) error {
	return each(ctx, pods, func(ctx context.Context, i int) error { return c.remove(ctx, podName(app, i)) })
}

func (c *cluster) remove(ctx context.Context, name string) error {
	return c.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// haveReady returns an error until so many pods of an app are ready and no
// other pod of it is left.
func (c *cluster) haveReady(app string, wanted int) error {
	pods, err := c.podsOf(app)
	if err != nil {
		return err
	}
	ready := 0
	for _, pod := range pods {
		if isReady(pod) {
			ready++
		}
	}
	if ready != wanted || len(pods) != wanted {
		return fmt.Errorf("%w: %d of %d pods %s are ready, %d exist", errMissing, ready, wanted, app, len(pods))
	}
	return nil
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

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// haveReadyNodes returns an error until all nodes are ready and have a lease.
func (c *cluster) haveReadyNodes(ctx context.Context, wanted int) error {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	ready := 0
	for _, node := range nodes {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready != wanted {
		return fmt.Errorf("%w: %d of %d nodes are ready", errMissing, ready, wanted)
	}
	leases, err := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err == nil && len(leases.Items) != wanted {
		err = fmt.Errorf("%w: %d of %d nodes have a lease", errMissing, len(leases.Items), wanted)
	}
	return err
}
