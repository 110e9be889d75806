package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const (
	// stays is the label of pods that tolerate their node's silence for ever, one
	// on each node. The others tolerate it for tolerated.
	stays     = "stays"
	tolerated = int64(5)
	// returnLimit is how long after the return of its node a pod that stayed may
	// take to be ready. The node restores within 7.5 s what others have written of
	// it. The rest is for the watches and calls.
	returnLimit = 10 * time.Second
)

// A circle is the life of a fleet, on one control plane. Its steps are those
// that are over, also after an error.
type circle struct {
	options
	programs circlePrograms
	progress io.Writer

	cluster   *cluster
	processes []*controlplane.Process
	steps     []circleStep
	load      string
	// slowest is the longest time from the return of a node until the pod that
	// stayed on it was ready. Restarts are those of the containers of all such
	// pods.
	slowest  time.Duration
	restarts int32
}

type circleStep struct {
	title string
	took  time.Duration
}

// circlePrograms are the paths of what the circle runs.
type circlePrograms struct{ hollownode, nodelifecycle, scheduler, controllers string }

func buildCircle(ctx context.Context, dir, program string, progress io.Writer) (p circlePrograms, err error) {
	if p.hollownode = program; program == "" {
		if p.hollownode, err = sidebyside.BuildOurs(ctx, dir, "hollownode"); err != nil {
			return p, err
		}
	}
	if p.nodelifecycle, err = sidebyside.BuildOurs(ctx, dir, "nodelifecycle"); err != nil {
		return p, err
	}
	paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress},
		controlplane.KubeScheduler, controlplane.KubeControllerManager)
	p.scheduler, p.controllers = paths[controlplane.KubeScheduler], paths[controlplane.KubeControllerManager]
	return p, err
}

// run plays the circle.
func (c *circle) run(ctx context.Context) (err error) {
	c.load = sidebyside.LoadAverage()
	dir := c.dir
	if dir != "" {
		dir = filepath.Join(dir, "circle")
	}
	if c.cluster, err = newCluster(ctx, dir, c.nodes); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.cluster.stop()) }()
	defer func() {
		for _, process := range c.processes {
			process.Stop(stopGrace)
		}
	}()
	begun := time.Now()
	if err := c.launchAll(); err != nil {
		return err
	}
	if err := c.until(ctx, begun, fmt.Sprintf("%s nodes are ready and take pods", sidebyside.Thousands(c.nodes)),
		func() error { return c.haveOpenNodes() }); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{c.bringUp, c.fallSilent, c.restore} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// launchAll starts the fleet and all that acts on it, with the flags that each
// has by default except limits of requests that none meets.
func (c *circle) launchAll() error {
	limits := []string{"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000"}
	for _, program := range []struct {
		name, path string
		args       []string
	}{
		{"hollownode", c.programs.hollownode, []string{"--leader-elect=false", "--secure-port=0"}},
		{"kube-scheduler", c.programs.scheduler, limits},
		{
			"kube-controller-manager", c.programs.controllers,
			append([]string{"--controllers=replicaset-controller"}, limits...),
		},
		// At 0.1 nodes a second, the default, the evictions alone would take long.
		{"nodelifecycle", c.programs.nodelifecycle, append([]string{"--node-eviction-rate=100"}, limits...)},
	} {
		process, err := c.cluster.launch(program.name, program.path, program.args...)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, process)
	}
	return nil
}

// until waits until nothing is missing, and takes the time since a moment.
func (c *circle) until(ctx context.Context, since time.Time, title string, missing func() error) error {
	if err := wait.For(ctx, patience, lookPeriod, title, func(context.Context) (bool, error) {
		for _, process := range c.processes {
			if !process.Running() {
				return false, fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(20))
			}
		}
		return true, missing()
	}); err != nil {
		return err
	}
	c.steps = append(c.steps, circleStep{title, time.Since(since)})
	fmt.Fprintf(c.progress, "%6.1f s  %s\n", time.Since(since).Seconds(), title)
	return nil
}

// bringUp gives each node a pod that stays, and the scheduler those of a
// ReplicaSet.
func (c *circle) bringUp(ctx context.Context) error {
	begun := time.Now()
	of := template(app)
	of.Spec.Tolerations = fleet.Tolerate(new(tolerated))
	if _, err := c.cluster.client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(c.pods)), Selector: &metav1.LabelSelector{MatchLabels: of.Labels}, Template: of,
		},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := each(ctx, c.nodes, func(ctx context.Context, i int) error {
		pod := template(stays)
		pod.Spec.NodeName, pod.Spec.Tolerations = nodeName(i), fleet.Tolerate(nil)
		_, err := c.cluster.client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podName(stays, i), Labels: pod.Labels}, Spec: pod.Spec,
		}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	title := fmt.Sprintf("%s pods of a ReplicaSet are ready, and one that stays on each node", sidebyside.Thousands(c.pods))
	return c.until(ctx, begun, title, func() error {
		return errors.Join(c.cluster.haveReady(app, c.pods), c.cluster.haveReady(stays, c.nodes))
	})
}

// silenced is how many nodes fall silent. They are the first ones, which are
// spread over all zones.
func (o options) silenced() int { return o.nodes * o.silent / 100 }

// annotate sets the annotation that makes these nodes silent to a value in
// JSON. It returns when the API server has stored it of each.
func (c *circle) annotate(ctx context.Context, value string) (map[string]time.Time, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`,
		cri.AnnotationDomain+"/"+kubelet.AnnotationSilent, value)
	stored := make([]time.Time, c.silenced())
	err := each(ctx, len(stored), func(ctx context.Context, i int) error {
		_, err := c.cluster.client.CoreV1().Nodes().
			Patch(ctx, nodeName(i), types.MergePatchType, patch, metav1.PatchOptions{})
		stored[i] = time.Now()
		return err
	})
	at := map[string]time.Time{}
	for i, when := range stored {
		at[nodeName(i)] = when
	}
	return at, err
}

// fallSilent cuts a share of the nodes off until their pods are replaced.
func (c *circle) fallSilent(ctx context.Context) error {
	begun := time.Now()
	silent, err := c.annotate(ctx, `""`)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		title   string
		missing func() error
	}{
		{fmt.Sprintf("%d of them silent: all of these are tainted NoExecute", len(silent)), func() error {
			return c.haveTainted(len(silent))
		}},
		{"all their pods of the ReplicaSet are evicted", func() error { return c.haveEvicted(silent) }},
		{"as many are ready on other nodes", func() error { return c.haveReplacements(silent) }},
		{"all that stay are shown not ready", func() error { return c.haveStaying(silent, false) }},
	} {
		if err := c.until(ctx, begun, step.title, step.missing); err != nil {
			return err
		}
	}
	return nil
}

// restore lets the nodes return.
func (c *circle) restore(ctx context.Context) error {
	watching, err := c.watchReady()
	if err != nil {
		return err
	}
	begun := time.Now()
	returned, err := c.annotate(ctx, "null")
	if err != nil {
		return err
	}
	if err := c.until(ctx, begun, "the nodes return: all that stayed are ready again", func() error {
		return c.haveStaying(returned, true)
	}); err != nil {
		return err
	}
	if c.slowest, err = watching.slowest(returned); err != nil {
		return err
	}
	if err := c.until(ctx, begun, "the evicted pods have ended", func() error {
		return c.cluster.haveReady(app, c.pods)
	}); err != nil {
		return err
	}
	if err := c.until(ctx, begun, "no node has a taint", c.haveOpenNodes); err != nil {
		return err
	}
	pods, err := c.cluster.podsOf(stays)
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			c.restarts += container.RestartCount
		}
	}
	return err
}

var errTooLate = errors.New("ours is too late")

// problem returns what the exit code is to say, besides the error of run.
func (c *circle) problem() error {
	var problems []error
	if c.slowest > returnLimit {
		problems = append(problems, fmt.Errorf("%w: a pod that stayed is ready %.1f s after the return of its node, want %v",
			errTooLate, c.slowest.Seconds(), returnLimit))
	}
	if c.restarts > 0 {
		problems = append(problems, fmt.Errorf("%w: %d containers have restarted", sidebyside.ErrOursFailed, c.restarts))
	}
	return errors.Join(problems...)
}

// write writes the steps in Markdown.
func (c *circle) write(out io.Writer) error {
	var text strings.Builder
	text.WriteString("| step | after |\n| --- | --- |\n")
	for _, step := range c.steps {
		fmt.Fprintf(&text, "| %s | %.1f s |\n", step.title, step.took.Seconds())
	}
	if c.slowest > 0 {
		fmt.Fprintf(&text, "| the last pod that stayed is ready, after the return of its node | %.1f s |\n",
			c.slowest.Seconds())
		fmt.Fprintf(&text, "| restarts of their containers | %d |\n", c.restarts)
	}
	fmt.Fprintf(&text, "| load average before | %s |\n", c.load)
	_, err := io.WriteString(out, text.String())
	return err
}
