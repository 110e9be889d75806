package hollow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// app is the label of the pods that all come and go together, and churning that
// of the pods that come and go one after another.
const app, churning = "web", "churn"

// A play is a script with a fleet.
type play struct {
	*sidebyside.Stage
	*options
	record  sidebyside.Record
	running *sidebyside.Processes // the subject
	client  coreclient.PodInterface
	// seenNodes and seenPods are those that a watch shows to the script.
	seenNodes listers.NodeLister
	seenPods  listers.PodNamespaceLister
}

// play plays on nodes, which nothing runs yet. They are spread over zones.
func (o *options) play(ctx context.Context, stage *sidebyside.Stage) (*sidebyside.Record, error) {
	const zones = 4
	p := &play{Stage: stage, options: o, client: stage.Client.CoreV1().Pods(fleet.Namespace)}
	if err := sidebyside.Each(ctx, o.nodes, func(ctx context.Context, i int) error {
		zone := fmt.Sprintf("zone-%d", i%zones+1)
		return fleet.Register(ctx, p.Client, fleet.Node("default", zone, nodeName(i)))
	}); err != nil {
		return nil, err
	}
	if err := p.Caches(ctx, func(factory informers.SharedInformerFactory) {
		core := factory.Core().V1()
		p.seenNodes, p.seenPods = core.Nodes().Lister(), core.Pods().Lister().Pods(fleet.Namespace)
	}); err != nil {
		return nil, err
	}
	var err error
	if p.running, err = p.Launch(p.Subject.Name); err != nil {
		return nil, err
	}
	nodes, pods := sidebyside.Thousands(p.nodes), sidebyside.Thousands(p.pods)
	steps := []sidebyside.Step{
		p.step(nodes+" nodes are ready after", sidebyside.InOrder(), p.areLeased, p.addNodes),
		p.step(pods+" pods are created and ready after", p.fill, p.areFilled, p.addUp),
		p.rests,
		p.step("all pods are deleted and gone after", p.clear, p.areGone, p.addEnd),
	}
	if p.churn > 0 {
		steps = append(steps, p.fill, p.awaiting("pods ready", p.areFilled), p.comeAndGo)
	}
	return &p.record, sidebyside.InOrder(append(steps, p.finish)...)(ctx)
}

// quiet is how long a subject may finish what it has begun.
const quiet = 3 * time.Second

// step does something and waits until nothing is missing. It adds the time that
// this took, and what it has cost the subject.
func (p *play) step(
	title string, act sidebyside.Step, missing func(context.Context) error,
	add func(*sidebyside.Record, sidebyside.Costs),
) sidebyside.Step {
	return func(ctx context.Context) error {
		var took time.Duration
		costs, err := p.running.Costs(ctx, func() error {
			begun := time.Now()
			err := sidebyside.InOrder(act, p.awaiting(title, missing))(ctx)
			took = time.Since(begun)
			return errors.Join(err, wait.Pause(ctx, quiet))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		p.Say("%6.1f s  %s, with %.2f s of CPU", took.Seconds(), title, costs.CPU.Seconds())
		p.record.Add(title, sidebyside.Seconds, took.Seconds())
		add(&p.record, costs)
		return nil
	}
}

// awaiting looks at what is missing until nothing is, while the processes run. On
// two cores that others use as well, 60 pods a second become ready.
func (p *play) awaiting(what string, missing func(context.Context) error) sidebyside.Step {
	const patience, period = 15 * time.Minute, 50 * time.Millisecond
	return func(ctx context.Context) error { return p.running.For(ctx, patience, period, what, missing) }
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

func podName(app string, i int) string { return fmt.Sprintf("%s-%06d", app, i) }

// create creates a pod of an app on a node.
func (p *play) create(ctx context.Context, app string, i int) error {
	pod := fleet.NewPod(podName(app, i), app)
	pod.Spec.NodeName = nodeName(i % p.nodes)
	_, err := p.client.Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// end deletes a pod, with its grace period.
func (p *play) end(ctx context.Context, app string, i int) error {
	return p.client.Delete(ctx, podName(app, i), metav1.DeleteOptions{})
}

// fill creates the pods, spread over the nodes.
func (p *play) fill(ctx context.Context) error {
	return sidebyside.Each(ctx, p.pods, func(ctx context.Context, i int) error { return p.create(ctx, app, i) })
}

// clear deletes what fill has created.
func (p *play) clear(ctx context.Context) error {
	return sidebyside.Each(ctx, p.pods, func(ctx context.Context, i int) error { return p.end(ctx, app, i) })
}

var errMissing = errors.New("missing")

// areLeased returns an error until all nodes are ready and have a lease.
func (p *play) areLeased(ctx context.Context) error {
	nodes, err := p.seenNodes.List(labels.Everything())
	if err != nil {
		return err
	}
	ready := 0
	for _, node := range nodes {
		if _, c := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady); c != nil && c.Status == corev1.ConditionTrue {
			ready++
		}
	}
	if ready != p.nodes {
		return fmt.Errorf("%w: %d of %d nodes are ready", errMissing, ready, p.nodes)
	}
	leases, err := p.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err == nil && len(leases.Items) != p.nodes {
		err = fmt.Errorf("%w: %d of %d nodes have a lease", errMissing, len(leases.Items), p.nodes)
	}
	return err
}

func (p *play) areFilled(context.Context) error { return p.areReady(p.pods) }
func (p *play) areGone(context.Context) error   { return p.areReady(0) }

// areReady returns an error until so many pods are ready and no other is left.
func (p *play) areReady(wanted int) error {
	pods, err := p.seenPods.List(labels.SelectorFromSet(labels.Set{fleet.AppLabel: app}))
	if err != nil {
		return err
	}
	ready := 0
	for _, pod := range pods {
		if fleet.IsReady(pod) {
			ready++
		}
	}
	if ready != wanted || len(pods) != wanted {
		return fmt.Errorf("%w: %d of %d pods are ready, and %d exist", errMissing, ready, wanted, len(pods))
	}
	return nil
}

// rests measures while nothing happens but heartbeats.
func (p *play) rests(ctx context.Context) error {
	costs, err := p.running.Costs(ctx, func() error { return wait.Pause(ctx, p.rest) })
	if err != nil {
		return err
	}
	memory, err := p.running.Last().Memory()
	if err != nil {
		return err
	}
	p.Say("at rest: %.1f %% of a core", costs.Share())
	p.addRest(&p.record, costs, float64(memory.Resident))
	return nil
}

const (
	// churners is how many pods are on their way at a time.
	churners = 64
	// samples is how often memory is read while pods come and go. Growth is from
	// the second tenth of the time, when the subject is warm, to the last.
	samples       = 100
	shortestChurn = 5 * time.Second
)

// comeAndGo has pods come and go as fast as they can, next to all pods at rest.
// It leaves the subject at work: the goroutines are counted then.
func (p *play) comeAndGo(ctx context.Context) error {
	var turns atomic.Int64
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, turning := errgroup.WithContext(running)
	for slot := range churners {
		group.Go(func() error { return p.turn(turning, slot, &turns) })
	}
	group.Go(func() error {
		defer stop()
		return p.watchChurn(turning, &turns)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// turn has one pod after the other become ready and go.
func (p *play) turn(ctx context.Context, slot int, turns *atomic.Int64) error {
	for i := slot; ctx.Err() == nil; i += churners {
		name := podName(churning, i)
		isReady := func(context.Context) error {
			pod, err := p.seenPods.Get(name)
			if err == nil && !fleet.IsReady(pod) {
				err = errMissing
			}
			return err
		}
		isGone := func(context.Context) error {
			_, err := p.seenPods.Get(name)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return cmp.Or(err, errMissing)
		}
		if err := sidebyside.InOrder(
			func(ctx context.Context) error { return p.create(ctx, churning, i) },
			p.awaiting(name+" to be ready", isReady),
			func(ctx context.Context) error { return p.end(ctx, churning, i) },
			p.awaiting("the end of "+name, isGone),
		)(ctx); err != nil {
			return err
		}
		turns.Add(1)
	}
	return nil
}

// watchChurn reads the memory until the time is over.
func (p *play) watchChurn(ctx context.Context, turns *atomic.Int64) error {
	begun := time.Now()
	var pods float64
	var resident []float64
	costs, err := p.running.Costs(ctx, func() error {
		for i := range samples {
			if err := wait.PauseUntil(ctx, begun.Add(p.churn*time.Duration(i+1)/samples)); err != nil {
				return err
			}
			memory, err := p.running.Last().Memory()
			if err != nil {
				return err
			}
			resident = append(resident, float64(memory.Resident))
		}
		pods = float64(turns.Load())
		return nil
	})
	if err != nil {
		return err
	}
	if pods == 0 {
		return fmt.Errorf("%w: no pod has come and gone", errMissing)
	}
	p.Say("%.0f pods have come and gone", pods)
	p.addChurn(&p.record, costs, pods, resident)
	return nil
}

// goroutine is the first line of a goroutine's trace.
var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\]:\r?$`)

// finish takes the most memory that the subject ever had, and ends it so that
// it prints the traces of its goroutines.
func (p *play) finish(ctx context.Context) error {
	process := p.running.Last()
	p.running.Dismiss(process)
	memory, err := process.Memory()
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := process.Wait(ctx); process.Running() {
		return fmt.Errorf("waiting for the end after SIGQUIT: %w", err)
	}
	log, err := os.ReadFile(process.LogFile())
	if err != nil {
		return err
	}
	found := len(goroutine.FindAll(log, -1))
	if found == 0 {
		return errors.New("the subject has printed no traces after SIGQUIT")
	}
	addWhole(&p.record, float64(memory.Peak), float64(found))
	return nil
}
