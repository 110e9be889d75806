package rollouts

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const (
	namespace = metav1.NamespaceDefault
	setName   = "agent"
)

// A cluster is a control plane with kube-scheduler, nodes, and their kubelets.
// It remembers what was done to the nodes, since that decides which of them
// have to have a pod.
type cluster struct {
	*sidebyside.Stage
	kubectlPath string
	kubelets    *kubelets
	scheduler   *sidebyside.Processes

	mu    sync.Mutex
	known map[string]corev1.TaintEffect // by name; empty for one without a taint
}

// newCluster starts the kubelets and the scheduler. After an error nothing is
// left.
func newCluster(ctx context.Context, stage *sidebyside.Stage, programs programs) (*cluster, error) {
	c := &cluster{Stage: stage, kubectlPath: programs.kubectl, known: map[string]corev1.TaintEffect{}}
	client, err := c.ClientOf("kubelets")
	if err != nil {
		return nil, err
	}
	if c.kubelets, err = startKubelets(ctx, client); err != nil {
		return nil, err
	}
	c.scheduler, err = c.LaunchProgram("kube-scheduler", programs.scheduler, flags...)
	if err == nil {
		err = c.awaitScheduler(ctx)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// stop ends the kubelets.
func (c *cluster) stop() { c.kubelets.stop() }

// awaitScheduler waits until a pod gets a node.
func (c *cluster) awaitScheduler(ctx context.Context) error {
	const canary = "canary"
	if err := c.addNodes(ctx, canary); err != nil {
		return err
	}
	pods := c.Client.CoreV1().Pods(metav1.NamespaceSystem)
	if _, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: canary},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "example.invalid/work"}}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := c.scheduler.Until(ctx, "kube-scheduler to bind a pod", func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, canary, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName != "", err
	}); err != nil {
		return err
	}
	if err := pods.Delete(ctx, canary, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		return err
	}
	return c.removeNodes(ctx, canary)
}

// snapshot returns what the API server has.
func (c *cluster) snapshot(ctx context.Context) (s state.Snapshot, err error) {
	if s.Set, err = c.Client.AppsV1().DaemonSets(namespace).Get(ctx, setName, metav1.GetOptions{}); err != nil {
		return s, err
	}
	pods, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	revisions, err := c.Client.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	s.Pods, s.Revisions = pods.Items, revisions.Items
	return s, nil
}
