package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

const (
	namespace = metav1.NamespaceDefault
	setName   = "agent"
)

// limits of the clients of all processes, so high that none meets them.
var limits = []string{"--kube-api-qps=1000", "--kube-api-burst=1000"}

// A cluster is a control plane with kube-scheduler, nodes, and their kubelets.
// It remembers what was done to the nodes, since that decides which of them
// have to have a pod.
type cluster struct {
	plane     *controlplane.ControlPlane
	client    kubernetes.Interface
	kubectl   string // the program
	kubelets  *kubelets
	scheduler *controlplane.Process

	mu    sync.Mutex
	nodes map[string]corev1.TaintEffect // by name; empty for one without a taint
}

// newCluster starts all of it, except a controller. After an error nothing
// runs. The data stays in dir, unless that is the empty string.
func newCluster(ctx context.Context, dir string, programs programs) (*cluster, error) {
	plane, err := controlplane.Start(ctx, controlplane.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	c := &cluster{plane: plane, kubectl: programs.kubectl, nodes: map[string]corev1.TaintEffect{}}
	if err := c.start(ctx, programs.scheduler); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// start starts the kubelets and the scheduler. After an error some may run.
func (c *cluster) start(ctx context.Context, scheduler string) (err error) {
	if c.client, err = c.user("script"); err != nil {
		return err
	}
	kubelets, err := c.user("kubelets")
	if err != nil {
		return err
	}
	if c.kubelets, err = startKubelets(ctx, kubelets); err != nil {
		return err
	}
	c.scheduler, err = c.launch("kube-scheduler", scheduler, "--leader-elect=false", "--secure-port=0")
	if err != nil {
		return err
	}
	return c.awaitScheduler(ctx)
}

// stop ends all of it.
func (c *cluster) stop() error {
	if c.scheduler != nil {
		c.scheduler.Stop(stopGrace)
	}
	if c.kubelets != nil {
		c.kubelets.stop()
	}
	return c.plane.Stop()
}

// stopGrace is how long a process may take to end by itself.
const stopGrace = 5 * time.Second

func (c *cluster) user(name string) (kubernetes.Interface, error) {
	config, err := c.plane.UserConfig(name, "system:masters")
	if err != nil {
		return nil, err
	}
	return sidebyside.ProtobufClient(config, name)
}

// launch starts a program as a user of its name, with a log of its own.
func (c *cluster) launch(user, path string, args ...string) (*controlplane.Process, error) {
	kubeconfig, err := c.plane.UserKubeconfig(user, "system:masters")
	if err != nil {
		return nil, err
	}
	return controlplane.StartProcess(controlplane.Command{
		Path: path, Args: append(append([]string{"--kubeconfig=" + kubeconfig, "--v=2"}, limits...), args...),
		LogFile: filepath.Join(c.plane.Dir(), fmt.Sprintf("%s-%d.log", user, time.Now().UnixNano())),
	})
}

// awaitScheduler waits until a pod gets a node.
func (c *cluster) awaitScheduler(ctx context.Context) error {
	const canary = "canary"
	if err := c.addNodes(ctx, canary); err != nil {
		return err
	}
	pods := c.client.CoreV1().Pods(metav1.NamespaceSystem)
	if _, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: canary},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "example.invalid/work"}}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := wait.Until(ctx, "kube-scheduler to bind a pod", func(ctx context.Context) (bool, error) {
		if err := ended(c.scheduler); err != nil {
			return false, err
		}
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

// ended returns an error with the end of the log when a process has ended.
func ended(process *controlplane.Process) error {
	if process.Running() {
		return nil
	}
	return fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(20))
}

// snapshot returns what the API server has.
func (c *cluster) snapshot(ctx context.Context) (s state.Snapshot, err error) {
	if s.Set, err = c.client.AppsV1().DaemonSets(namespace).Get(ctx, setName, metav1.GetOptions{}); err != nil {
		return s, err
	}
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	revisions, err := c.client.AppsV1().ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	s.Pods, s.Revisions = pods.Items, revisions.Items
	return s, nil
}
