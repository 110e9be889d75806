package main

import (
	"context"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A subject is a DaemonSet controller. It is a user of its own for the API
// server.
type subject struct {
	// Name is what messages call it, Title the head of its columns.
	Name, Title string
	// args are its arguments besides those that all have.
	args []string
	path func(programs) string
}

// The subjects get the same limits of requests, and no election: after a kill
// the next process works at once.
var (
	ours = subject{
		Name: sidebyside.Ours, Title: "examples/daemonset", args: []string{"--leader-elect=false", "--secure-port=0"},
		path: func(p programs) string { return p.ours },
	}
	upstream = subject{
		Name: "upstream", Title: "kube-controller-manager v1.37.1",
		args: []string{"--leader-elect=false", "--secure-port=0", "--controllers=daemonset-controller"},
		path: func(p programs) string { return p.upstream },
	}
)

// programs are the paths of what the plays run.
type programs struct{ ours, upstream, scheduler, kubectl string }

// build builds them, ours into a folder.
func build(ctx context.Context, dir string, progress io.Writer) (p programs, err error) {
	if p.ours, err = sidebyside.BuildOurs(ctx, dir, "daemonset"); err != nil {
		return p, err
	}
	paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress},
		controlplane.KubeControllerManager, controlplane.KubeScheduler, controlplane.Kubectl)
	p.upstream = paths[controlplane.KubeControllerManager]
	p.scheduler, p.kubectl = paths[controlplane.KubeScheduler], paths[controlplane.Kubectl]
	return p, err
}

// A controller is a subject that runs on a cluster, one process after another.
type controller struct {
	subject
	cluster   *cluster
	path      string
	processes []*controlplane.Process
}

// startController starts a subject and waits until it works. The caller stops
// it, also after an error.
func startController(ctx context.Context, c *cluster, s subject, programs programs) (*controller, error) {
	running := &controller{subject: s, cluster: c, path: s.path(programs)}
	if err := running.start(); err != nil {
		return running, err
	}
	return running, running.awaitWork(ctx)
}

func (r *controller) start() error {
	process, err := r.cluster.launch(r.Name, r.path, r.args...)
	if err == nil {
		r.processes = append(r.processes, process)
	}
	return err
}

func (r *controller) current() *controlplane.Process { return r.processes[len(r.processes)-1] }

// alive returns an error with the end of the log when the process has ended.
func (r *controller) alive() error { return ended(r.current()) }

// stop ends the process, if any.
func (r *controller) stop() {
	if len(r.processes) > 0 {
		r.current().Stop(stopGrace)
	}
}

// restart kills the process with SIGKILL and starts another.
func (r *controller) restart() error {
	r.current().Kill()
	return r.start()
}

// cpuTime returns what all processes have used.
func (r *controller) cpuTime() (total time.Duration, err error) {
	for _, process := range r.processes {
		used, err := process.CPUTime()
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// awaitWork waits until the subject has written the status of a canary, which
// selects no node. The canary is gone afterwards, and so is its revision, which
// nothing here collects.
func (r *controller) awaitWork(ctx context.Context) error {
	chosen := map[string]string{"app": "canary"}
	sets := r.cluster.client.AppsV1().DaemonSets(metav1.NamespaceSystem)
	canary, err := sets.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "canary-"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: chosen},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"example.com/canary": "none"},
					Containers:   []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := wait.Until(ctx, r.Name+" to work", func(ctx context.Context) (bool, error) {
		if err := r.alive(); err != nil {
			return false, err
		}
		live, err := sets.Get(ctx, canary.Name, metav1.GetOptions{})
		return err == nil && live.Status.ObservedGeneration > 0, err
	}); err != nil {
		return err
	}
	if err := sets.Delete(ctx, canary.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return r.cluster.client.AppsV1().ControllerRevisions(metav1.NamespaceSystem).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}
