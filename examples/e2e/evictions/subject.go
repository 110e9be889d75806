package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A subject is a program that evicts pods because of taints.
type subject struct {
	// Name is what --subject calls it, Title the head of its column.
	Name, Title string
	// Build returns the path of the program.
	Build func(ctx context.Context, dir string, progress io.Writer) (string, error)
	// Args are its arguments in a scenario; Kubeconfig and the limits come on top.
	Args func(scenario) []string
}

// Alone, the taint-eviction-controller of v1.37.1 does not see the pods of a
// node that is tainted ("Index with name spec.nodeName does not exist"). It
// lives on an index that another controller adds to the informer of both. That
// is the node-lifecycle-controller or the daemonset-controller. The latter does
// nothing where there is no DaemonSet.
const upstreamControllers = "taint-eviction-controller,daemonset-controller"

// The limits of the client are the same for all, and so high that no scenario
// meets them.
var limits = []string{"--kube-api-qps=1000", "--kube-api-burst=1000"}

func subjects() []subject {
	return []subject{
		{
			Name:  "ours",
			Title: "examples/tainteviction",
			Build: func(ctx context.Context, dir string, _ io.Writer) (string, error) {
				return sidebyside.BuildOurs(ctx, dir, "tainteviction")
			},
			Args: func(s scenario) []string {
				return append([]string{"--leader-elect=false", "--secure-port=0", "--v=2"}, s.Ours...)
			},
		},
		{
			Name:  "upstream",
			Title: "kube-controller-manager v1.37.1",
			Build: func(ctx context.Context, _ string, progress io.Writer) (string, error) {
				return sidebyside.BuildUpstream(ctx, progress)
			},
			Args: func(scenario) []string {
				return []string{"--controllers=" + upstreamControllers, "--leader-elect=false", "--secure-port=0", "--v=2"}
			},
		},
	}
}

// user is the name of the subject for the API server, and so in the audit log.
const user = "subject"

// A controller is a subject that runs on a cluster, as a process of its own.
type controller struct {
	cluster *cluster
	command controlplane.Command
	process *controlplane.Process
	started int
}

// newController starts a subject and waits until it works.
func newController(ctx context.Context, c *cluster, program string, args []string) (*controller, error) {
	kubeconfig, err := c.plane.UserKubeconfig(user, "system:masters")
	if err != nil {
		return nil, err
	}
	running := &controller{cluster: c, command: controlplane.Command{
		Path: program,
		Args: append(append([]string{"--kubeconfig=" + kubeconfig}, limits...), args...),
	}}
	return running, running.start(ctx)
}

// start starts the process and waits until it evicts: a canary dies. That is
// the one sign of being ready that means the same for every subject.
func (r *controller) start(ctx context.Context) error {
	r.started++
	r.command.LogFile = filepath.Join(r.cluster.plane.Dir(),
		fmt.Sprintf("%s-%d.log", filepath.Base(r.command.Path), r.started))
	var err error
	if r.process, err = controlplane.StartProcess(r.command); err != nil {
		return err
	}
	canary := fmt.Sprintf("canary-%d", r.started)
	if err := r.cluster.addCanary(ctx, canary); err != nil {
		return err
	}
	return wait.Until(ctx, "the subject to evict "+canary, func(ctx context.Context) (bool, error) {
		if err := r.alive(); err != nil {
			return false, err
		}
		_, err := r.cluster.client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, canary, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// alive returns an error with the end of the log when the process has ended.
func (r *controller) alive() error {
	if r.process.Running() {
		return nil
	}
	return fmt.Errorf("%w\n%s", wait.ErrEnded, r.process.LogTail(20))
}

// stop ends the process at the end of a scenario.
func (r *controller) stop() { r.process.Stop(5 * time.Second) }

// restart kills the process and starts another.
func (r *controller) restart(ctx context.Context) error {
	r.process.Kill()
	return r.start(ctx)
}

// addCanary adds a pod that is to be evicted at once, and then taints its node:
// a subject has to see both. It is in another namespace than the scenario, and
// on a node of its own.
func (c *cluster) addCanary(ctx context.Context, name string) error {
	nodes, err := c.addNodes(ctx, name, 1)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName:                      nodes[0],
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return c.taint(ctx, nodes...)
}
