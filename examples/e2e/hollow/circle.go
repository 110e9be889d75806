package hollow

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// A life is that of a fleet, on one control plane. Its figures are those of the
// steps that are over, also after an error.
type life struct {
	*options
	*cluster
	figures   figures
	processes []*sidebyside.Processes
}

// circlePrograms are the paths of what the circle runs besides hollownode.
type circlePrograms struct{ nodelifecycle, scheduler, controllers string }

// run plays the circle.
func (c *life) run(ctx context.Context) error {
	begun := time.Now()
	if err := c.launchAll(); err != nil {
		return err
	}
	if err := c.until(ctx, begun, nodesOpen, c.haveOpenNodes); err != nil {
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
func (c *life) launchAll() error {
	limits := []string{"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000"}
	fleet, err := c.LaunchSubject(sidebyside.Subject{Name: sidebyside.Ours})
	if err != nil {
		return err
	}
	c.processes = append(c.processes, fleet)
	for _, program := range []struct {
		name, path string
		args       []string
	}{
		{"kube-scheduler", c.programs.scheduler, limits},
		{
			"kube-controller-manager", c.programs.controllers,
			append([]string{"--controllers=replicaset-controller"}, limits...),
		},
		// At 0.1 nodes a second, the default, the evictions alone would take long.
		{"nodelifecycle", c.programs.nodelifecycle, append([]string{"--node-eviction-rate=100"}, limits...)},
	} {
		processes, err := c.LaunchProgram(program.name, program.path, program.args...)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, processes)
	}
	return nil
}

// until waits until nothing is missing, and takes the time since a moment.
func (c *life) until(ctx context.Context, since time.Time, step figure, missing func() error) error {
	title := c.titleOf(step)
	if err := wait.For(ctx, patience, lookPeriod, title, func(context.Context) (bool, error) {
		for _, p := range c.processes {
			if err := p.Alive(); err != nil {
				return false, err
			}
		}
		return true, missing()
	}); err != nil {
		return err
	}
	c.figures[step] = time.Since(since).Seconds()
	c.Say("%6.1f s  %s", c.figures[step], title)
	return nil
}

// titleOf returns the title of the row of a step.
func (c *life) titleOf(step figure) string { return c.circleFigures()[step-nodesOpen].Title }

// bringUp gives each node a pod that stays, and the scheduler those of a
// ReplicaSet.
func (c *life) bringUp(ctx context.Context) error {
	begun := time.Now()
	of := template(app)
	of.Spec.Tolerations = fleet.Tolerate(new(tolerated))
	if _, err := c.Client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(c.options.pods)), Selector: &metav1.LabelSelector{MatchLabels: of.Labels}, Template: of,
		},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := sidebyside.Each(ctx, c.options.nodes, func(ctx context.Context, i int) error {
		pod := template(stays)
		pod.Spec.NodeName, pod.Spec.Tolerations = nodeName(i), fleet.Tolerate(nil)
		_, err := c.Client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podName(stays, i), Labels: pod.Labels}, Spec: pod.Spec,
		}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return c.until(ctx, begun, podsReady, func() error {
		return errors.Join(c.haveReady(app, c.options.pods), c.haveReady(stays, c.options.nodes))
	})
}

// silenced is how many nodes fall silent. They are the first ones, which are
// spread over all zones.
func (o *options) silenced() int { return o.nodes * o.silent / 100 }

// annotate sets the annotation that makes these nodes silent to a value in
// JSON. It returns when the API server has stored it of each.
func (c *life) annotate(ctx context.Context, value string) (map[string]time.Time, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`,
		cri.AnnotationDomain+"/"+kubelet.AnnotationSilent, value)
	stored := make([]time.Time, c.silenced())
	err := sidebyside.Each(ctx, len(stored), func(ctx context.Context, i int) error {
		_, err := c.Client.CoreV1().Nodes().
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
func (c *life) fallSilent(ctx context.Context) error {
	begun := time.Now()
	silent, err := c.annotate(ctx, `""`)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		figure  figure
		missing func() error
	}{
		{nodesTainted, func() error {
			return c.haveTainted(len(silent))
		}},
		{podsEvicted, func() error { return c.haveEvicted(silent) }},
		{podsReplaced, func() error { return c.haveReplacements(silent) }},
		{staysNotReady, func() error { return c.haveStaying(silent, false) }},
	} {
		if err := c.until(ctx, begun, step.figure, step.missing); err != nil {
			return err
		}
	}
	return nil
}

// restore lets the nodes return.
func (c *life) restore(ctx context.Context) error {
	watching, err := c.watchReady()
	if err != nil {
		return err
	}
	begun := time.Now()
	returned, err := c.annotate(ctx, "null")
	if err != nil {
		return err
	}
	if err := c.until(ctx, begun, staysReady, func() error {
		return c.haveStaying(returned, true)
	}); err != nil {
		return err
	}
	last, err := watching.slowest(returned)
	if err != nil {
		return err
	}
	c.figures[slowest] = last.Seconds()
	if err := c.until(ctx, begun, evictedEnded, func() error {
		return c.haveReady(app, c.options.pods)
	}); err != nil {
		return err
	}
	if err := c.until(ctx, begun, nodesUntainted, c.haveOpenNodes); err != nil {
		return err
	}
	pods, err := c.podsOf(stays)
	restarted := int32(0)
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			restarted += container.RestartCount
		}
	}
	c.figures[restarts] = float64(restarted)
	return err
}
