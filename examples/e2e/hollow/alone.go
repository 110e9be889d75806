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

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// playAlone plays the script with a subject that nothing else acts on.
func (p *play) playAlone(ctx context.Context) (err error) {
	var args []string
	if p.Subject.Name == sidebyside.Ours {
		args = []string{"--events=false"}
	}
	if p.running, err = p.Launch(p.Subject.Name, args...); err != nil {
		return err
	}
	nodes, pods := sidebyside.Thousands(p.nodes), sidebyside.Thousands(p.pods)
	steps := []sidebyside.Step{
		p.costs(step{nodes + " nodes are ready after", nil, func() error { return p.areLeased(ctx) }}, p.addNodes),
		p.costs(step{pods + " pods are created and ready after", p.fill, p.areFilled}, p.addUp),
		p.rests,
		p.costs(step{"all pods are deleted and gone after", p.clear, p.areGone}, p.addEnd),
	}
	if p.churn > 0 {
		steps = append(steps, p.fill, p.awaiting("pods ready", p.areFilled), p.comeAndGo)
	}
	return sidebyside.InOrder(append(steps, p.finish)...)(ctx)
}

func (p *play) areFilled() error { return p.areReady(app, p.pods) }
func (p *play) areGone() error   { return p.areReady(app, 0) }

// quiet is how long a subject may finish what it has begun.
const quiet = 3 * time.Second

// costs plays a step, and adds what it has cost the subject.
func (p *play) costs(
	s step, add func(*sidebyside.Record, sidebyside.Costs),
) sidebyside.Step {
	return func(ctx context.Context) error {
		costs, err := p.running.Costs(ctx, func() error {
			return errors.Join(p.steps(ctx, s), wait.Pause(ctx, quiet))
		})
		if err != nil {
			return err
		}
		p.Say("%.2f s of CPU for that", costs.CPU.Seconds())
		add(&p.record, costs)
		return nil
	}
}

// areLeased returns an error until all nodes are ready and have a lease.
func (p *play) areLeased(ctx context.Context) error {
	if err := p.nodesAre(p.nodes, "are ready", isReadyNode); err != nil {
		return err
	}
	leases, err := p.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err == nil && len(leases.Items) != p.nodes {
		err = fmt.Errorf("%w: %d of %d nodes have a lease", errMissing, len(leases.Items), p.nodes)
	}
	return err
}

// fill creates the pods, spread over the nodes.
func (p *play) fill(ctx context.Context) error {
	return sidebyside.Each(ctx, p.pods, func(ctx context.Context, i int) error {
		return p.create(ctx, app, i, nodeName(i%p.nodes))
	})
}

// clear deletes what fill has created, with the grace period of the pods.
func (p *play) clear(ctx context.Context) error {
	return sidebyside.Each(ctx, p.pods, func(ctx context.Context, i int) error {
		return p.Client.CoreV1().Pods(namespace).Delete(ctx, podName(app, i), metav1.DeleteOptions{})
	})
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
		name := podName("churn", i)
		isReady := func() error {
			pod, err := p.seenPods.Get(name)
			if err == nil && !fleet.IsReady(pod) {
				err = errMissing
			}
			return err
		}
		isGone := func() error {
			_, err := p.seenPods.Get(name)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return cmp.Or(err, errMissing)
		}
		if err := sidebyside.InOrder(
			func(ctx context.Context) error { return p.create(ctx, "churn", i, nodeName(i%p.nodes)) },
			p.awaiting(name+" to be ready", isReady),
			func(ctx context.Context) error {
				return p.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
			},
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
