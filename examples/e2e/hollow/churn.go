package hollow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

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
	if p.churn == 0 {
		return nil
	}
	if err := p.fill(ctx, app, p.options.pods, p.options.nodes); err != nil {
		return err
	}
	if err := p.await(ctx, "pods ready", func() (bool, error) {
		return true, p.haveReady(app, p.options.pods)
	}); err != nil {
		return err
	}
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
		if err := p.create(ctx, "churn", name, nodeName(i%p.options.nodes)); err != nil {
			return err
		}
		if err := p.await(ctx, name+" to be ready", func() (bool, error) {
			return p.showsReady(name)
		}); err != nil {
			return err
		}
		if err := p.remove(ctx, name); err != nil {
			return err
		}
		if err := p.await(ctx, "the end of "+name, func() (bool, error) {
			return p.showsGone(name)
		}); err != nil {
			return err
		}
		turns.Add(1)
	}
	return nil
}

// watchChurn reads the memory until the time is over.
func (p *play) watchChurn(ctx context.Context, turns *atomic.Int64) error {
	begun := time.Now()
	used, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	var resident []float64
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
	after, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	took, pods := time.Since(begun), turns.Load()
	if pods == 0 {
		return fmt.Errorf("%w: no pod has come and gone", errMissing)
	}
	p.figures[churnPods] = float64(pods)
	p.figures[churnRate] = float64(pods) / took.Seconds()
	p.figures[churnCPU] = 1000 * (after - used).Seconds() / float64(pods)
	p.figures[churnGrowth] = growth(resident)
	p.Say("%d pods have come and gone: %.1f MiB, %+.1f %%",
		pods, mebibytes(resident[len(resident)-1]), p.figures[churnGrowth])
	return nil
}

// growth returns by how many percent the mean of the last tenth is above that
// of the second tenth.
func growth(of []float64) float64 {
	tenth := len(of) / 10
	before, after := mean(of[tenth:2*tenth]), mean(of[len(of)-tenth:])
	return 100 * (after - before) / before
}

func mean(of []float64) (m float64) {
	for _, v := range of {
		m += v / float64(len(of))
	}
	return m
}
