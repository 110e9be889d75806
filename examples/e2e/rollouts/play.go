package rollouts

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A play is the script with a controller, or the handover.
type play struct {
	*sidebyside.Stage
	*options
	mode mode
	// sets and pods are those that a watch shows to the script.
	sets       appslisters.DaemonSetNamespaceLister
	pods       listers.PodNamespaceLister
	controller *sidebyside.Processes
	goal       goal
	desired    int32  // nodes that had to have a pod before the step
	spoken     string // what kubectl said in the step

	// steps has the seconds of each step, and the state that it has come to. The
	// sums are those of all steps.
	steps sidebyside.Record
	all   time.Duration
	costs sidebyside.Costs
	// disturbed are the pods and revisions that a change of the controller has
	// disturbed.
	disturbed []string
}

// play plays on nodes that are ready, with a scheduler.
func (o *options) play(ctx context.Context, stage *sidebyside.Stage, m mode) (*sidebyside.Record, error) {
	const interval = time.Minute // since nothing asks whether nodes are alive
	p := &play{Stage: stage, options: o, mode: m, goal: goal{nodes: map[string]corev1.TaintEffect{}}}
	zones := map[string]int{firstNode: o.nodes}
	if p.mode == trouble {
		zones = map[string]int{firstNode: o.nodes - len(p.few()), fewZone: len(p.few())}
	}
	world, err := fleet.NewWorld(ctx, stage, zones, interval)
	if err != nil {
		return nil, err
	}
	steps := []sidebyside.Step{p.taint("", world.AllNodes()), p.watch, p.launchScheduler}
	for _, t := range p.turns() {
		steps = append(steps, func(ctx context.Context) error { return p.take(ctx, t) })
	}
	if err := sidebyside.InOrder(steps...)(ctx); err != nil {
		return nil, err
	}
	switch p.mode {
	case handover:
		return p.handoverRecord(), nil
	case trouble:
		return &p.steps, nil
	}
	return p.record(), nil
}

// watch has a watch show the cluster to the script. It is called again after an
// outage: the informers that were there before come back up to half a minute late.
func (p *play) watch(ctx context.Context) error {
	return p.Caches(ctx, func(factory informers.SharedInformerFactory) {
		p.sets = factory.Apps().V1().DaemonSets().Lister().DaemonSets(namespace)
		p.pods = factory.Core().V1().Pods().Lister().Pods(namespace)
	})
}

// quiet is how long nothing may happen after a step until its state counts.
// Statuses of ours are at most a second late.
const quiet = 2 * time.Second

func (p *play) launchScheduler(ctx context.Context) error {
	scheduler, err := p.Launch("kube-scheduler")
	if err != nil {
		return err
	}
	return p.awaitWork(ctx, scheduler, "kube-scheduler", "pods")
}

// awaitWork waits until a user watches a resource and has done what it begins
// with.
func (p *play) awaitWork(ctx context.Context, of *sidebyside.Processes, user, resource string) error {
	begun := time.Now()
	if err := of.Until(ctx, user+" to watch "+resource, func(ctx context.Context) error {
		requests, err := p.Plane.Requests(ctx, controlplane.Filter{
			User: user, Verb: "watch", Resource: resource, Since: begun,
		})
		if err == nil && len(requests) == 0 {
			err = errors.New("it does not")
		}
		return err
	}); err != nil {
		return err
	}
	return wait.Pause(ctx, quiet)
}

// A turn is what a controller does until it ends.
type turn struct {
	subject sidebyside.Subject
	// args are flags besides those that all have.
	args []string
	// before is done while no controller runs.
	before sidebyside.Step
	// takesOver says that another has controlled the set before.
	takesOver bool
	steps     []step
}

// turns are those of the scenario. In the handover upstream creates and rolls
// out, ours takes over and rolls out, and upstream takes over again.
func (p *play) turns() []turn {
	steps := p.script()
	switch p.mode {
	case handover:
		return []turn{
			{subject: upstream, steps: steps[:2]}, {subject: ours, takesOver: true, steps: steps[2:3]},
			{subject: upstream, takesOver: true},
		}
	case trouble:
		return p.troubles()
	}
	return []turn{{subject: p.Subject, steps: steps}}
}

// take plays a turn.
func (p *play) take(ctx context.Context, t turn) (err error) {
	var before snapshot
	if t.takesOver {
		before, err = p.snapshot(ctx)
	} else if t.before != nil {
		err = t.before(ctx)
	}
	if err != nil {
		return err
	}
	if p.controller, err = p.Launch(t.subject.Name, t.args...); err != nil {
		return err
	}
	defer p.controller.Stop()
	if err := p.awaitWork(ctx, p.controller, sidebyside.User, "daemonsets"); err != nil {
		return err
	}
	if t.takesOver {
		if err := p.takeOver(ctx, t.subject.Name, before); err != nil {
			return err
		}
	}
	for _, s := range t.steps {
		if err := p.playStep(ctx, s); err != nil {
			return fmt.Errorf("%s: %s: %w", t.subject.Name, s.title, err)
		}
	}
	return nil
}

// playStep plays a step, and looks at what it has come to. What the controller
// has in mind to write is written then, and the next step begins with that.
func (p *play) playStep(ctx context.Context, s step) error {
	var took time.Duration
	costs, err := p.controller.Costs(ctx, func() (err error) {
		took, err = p.do(ctx, s)
		return errors.Join(err, wait.Pause(ctx, quiet))
	})
	if err != nil {
		return err
	}
	p.Say("%s: %.1f s", s.title, took.Seconds())
	if p.mode == trouble {
		return p.addTrouble(ctx, s, took, costs)
	}
	p.steps.Add(s.title, sidebyside.Seconds, took.Seconds())
	p.all += took
	p.costs.CPU += costs.CPU
	p.costs.Calls = append(p.costs.Calls, costs.Calls...)
	facts, err := p.lookAt(ctx)
	p.steps.States = append(p.steps.States, sidebyside.State{Step: s.title, Facts: facts})
	return err
}

// takeOver adds a node, whose pod shows that the controller has taken over.
// Until the cluster is quiet again nothing else may be disturbed.
func (p *play) takeOver(ctx context.Context, by string, before snapshot) error {
	node := "taken-by-" + by
	if _, err := p.do(ctx, step{act: p.changeNodes(change{added: []string{node}})}); err != nil {
		return err
	}
	if err := wait.Pause(ctx, quiet); err != nil {
		return err
	}
	after, err := p.snapshot(ctx)
	lines := disturbances(before, after, node)
	p.Say("%s has taken over and disturbed %d pods and revisions", by, len(lines))
	p.disturbed = append(p.disturbed, lines...)
	return err
}

// do plays a step, and returns how long it took to reach its goal.
func (p *play) do(ctx context.Context, s step) (time.Duration, error) {
	begun := time.Now()
	p.spoken, p.desired = "", 0
	if set, err := p.sets.Get(setName); err == nil { // which the first step creates
		p.desired = set.Status.DesiredNumberScheduled
	}
	if err := s.act(ctx); err != nil {
		return 0, err
	}
	group, meanwhile := errgroup.WithContext(ctx)
	if s.followed {
		group.Go(func() error {
			said, err := p.runKubectl(meanwhile, "rollout", "status", object, "--timeout="+wait.Patience.String())
			lines := strings.Split(said, "\n")
			p.spoken = lines[len(lines)-1] // the others depend on what it happens to see
			return err
		})
	}
	if p.mode == killed {
		s.fault = func(context.Context) error { return p.controller.Restart() }
	}
	if s.fault != nil {
		group.Go(func() error { return p.inTheMiddle(meanwhile, s) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if s.rest != nil {
		if err := s.rest(ctx); err != nil {
			return 0, err
		}
	}
	var err error
	switch {
	case s.held > 0:
		err = wait.Pause(ctx, s.held)
	case s.goal != nil:
		err = p.await(ctx, "the goal", s.goal)
	default:
		err = p.await(ctx, "the goal", p.goal.missing)
	}
	return time.Since(begun), err
}

var (
	// errMissed means that a step was over before its fault.
	errMissed = errors.New("the middle was missed")
	errNotYet = errors.New("not yet")
)

// inTheMiddle waits for the middle of a step, and has its fault happen.
func (p *play) inTheMiddle(ctx context.Context, s step) error {
	over := false
	if err := p.await(ctx, "the middle", func(set *appsv1.DaemonSet, pods []*corev1.Pod) error {
		over = s.rest == nil && p.goal.missing(set, pods) == nil
		if !s.middle(set, pods) {
			return errNotYet
		}
		return nil
	}); err != nil {
		return err
	}
	if over {
		return errMissed
	}
	p.Say("%s: the fault in the middle", s.title)
	return s.fault(ctx)
}

// await looks at the set and its pods every few milliseconds, so that a step of
// a tenth of a second has a middle, until nothing is missing.
func (p *play) await(
	ctx context.Context, what string, missing func(*appsv1.DaemonSet, []*corev1.Pod) error,
) error {
	const period = 10 * time.Millisecond
	return p.controller.For(ctx, wait.Patience, period, what, func(context.Context) error {
		set, err := p.sets.Get(setName)
		if err != nil {
			return err
		}
		pods, err := p.pods.List(labels.Everything())
		if err != nil {
			return err
		}
		return missing(set, pods)
	})
}

// snapshot returns what the API server has.
func (p *play) snapshot(ctx context.Context) (s snapshot, err error) {
	apps := p.Client.AppsV1()
	if s.set, err = apps.DaemonSets(namespace).Get(ctx, setName, metav1.GetOptions{}); err != nil {
		return s, err
	}
	pods, err := p.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	revisions, err := apps.ControllerRevisions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	s.pods, s.revisions = pods.Items, revisions.Items
	return s, nil
}

// lookAt returns the facts that a step has come to, with what kubectl says.
func (p *play) lookAt(ctx context.Context) (facts, error) {
	s, err := p.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.facts()
	if err != nil {
		return nil, err
	}
	all["kubectl rollout status"] = p.spoken
	flags := []string{""}
	for i := range s.revisions {
		flags = append(flags, fmt.Sprintf(" --revision=%d", s.revisions[i].Revision))
	}
	for _, flag := range flags {
		if all["kubectl rollout history"+flag], err = p.runKubectl(ctx,
			strings.Fields("rollout history "+object+flag)...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// runKubectl returns the output of kubectl.
func (p *play) runKubectl(ctx context.Context, args ...string) (string, error) {
	all := append([]string{
		"--kubeconfig=" + p.Plane.Kubeconfig(), "--cache-dir=" + filepath.Join(p.Plane.Dir(), "kubectl"),
		"--namespace=" + namespace,
	}, args...)
	out, err := exec.CommandContext(ctx, p.ProgramOf("kubectl").Path, all...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
