package hollow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"syscall"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A play is the script with a subject. Its figures are those that it has come
// to, also after an error.
type play struct {
	*options
	*cluster
	figures figures
	running *sidebyside.Processes
}

const (
	// app is the label of the pods that all come and go together.
	app = "web"
	// quiet is how long a subject may finish what it has begun.
	quiet = 3 * time.Second
)

// run plays the script.
func (p *play) run(ctx context.Context) (err error) {
	var args []string
	if p.Subject.Name == sidebyside.Ours {
		args = []string{"--events=false"}
	}
	if p.running, err = p.Launch(args...); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{
		p.begin, p.bringUp, p.atRest, p.end, p.comeAndGo, p.mostMemory, p.dump,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await waits until the caches show what is wanted, while the subject runs.
func (p *play) await(ctx context.Context, what string, ask func() (bool, error)) error {
	return p.running.For(ctx, patience, lookPeriod, what, func(context.Context) (bool, error) { return ask() })
}

// step does something, waits until it has the result that is wanted, and takes
// the time and the CPU time of the subject.
func (p *play) step(
	ctx context.Context, what string, seconds, cpu figure, act func(context.Context) error, missing func() error,
) error {
	used, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := act(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := p.await(ctx, what, func() (bool, error) { return true, missing() }); err != nil {
		return err
	}
	took := time.Since(begun)
	if err := wait.Pause(ctx, quiet); err != nil {
		return err
	}
	after, err := p.running.CPUTime()
	p.figures[seconds], p.figures[cpu] = took.Seconds(), (after - used).Seconds()
	p.Say("%s: %.1f s, %.2f s of CPU", what, p.figures[seconds], p.figures[cpu])
	return err
}

// begin waits until all nodes are ready and have a lease.
func (p *play) begin(ctx context.Context) error {
	since := time.Now()
	err := p.step(ctx, "nodes ready", nodesSeconds, nodesCPU,
		func(context.Context) error { return nil },
		func() error { return p.haveReadyNodes(ctx, p.options.nodes) })
	if err != nil {
		return err
	}
	calls, err := p.calls(ctx, since, "*")
	p.figures[nodesCalls] = float64(calls) / float64(p.options.nodes)
	return err
}

// bringUp creates all pods and waits until they are ready.
func (p *play) bringUp(ctx context.Context) error {
	since := time.Now()
	if err := p.step(ctx, "pods ready", upSeconds, upCPU,
		func(ctx context.Context) error { return p.fill(ctx, app, p.options.pods, p.options.nodes) },
		func() error { return p.haveReady(app, p.options.pods) }); err != nil {
		return err
	}
	return p.countPodCalls(ctx, since, upCalls)
}

// end deletes all pods and waits until they are gone.
func (p *play) end(ctx context.Context) error {
	since := time.Now()
	if err := p.step(ctx, "pods gone", endSeconds, endCPU,
		func(ctx context.Context) error { return p.empty(ctx, app, p.options.pods) },
		func() error { return p.haveReady(app, 0) }); err != nil {
		return err
	}
	return p.countPodCalls(ctx, since, endCalls)
}

// countPodCalls counts the calls about pods for each pod.
func (p *play) countPodCalls(ctx context.Context, since time.Time, to figure) error {
	total := 0
	for _, resource := range []string{"pods", "pods/status"} {
		calls, err := p.calls(ctx, since, resource)
		if err != nil {
			return err
		}
		total += calls
	}
	p.figures[to] = float64(total) / float64(p.options.pods)
	return nil
}

// calls returns how many requests of the subject the API server has received.
func (p *play) calls(ctx context.Context, since time.Time, resource string) (int, error) {
	requests, err := p.Plane.Requests(ctx, controlplane.Filter{
		User: sidebyside.User, Resource: resource, Since: since,
	})
	return len(requests), err
}

// atRest measures while nothing happens but heartbeats.
func (p *play) atRest(ctx context.Context) error {
	since := time.Now()
	used, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	if err := wait.Pause(ctx, p.rest); err != nil {
		return err
	}
	after, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	took := time.Since(since)
	memory, err := p.running.Last().Memory()
	if err != nil {
		return err
	}
	renewals, err := p.calls(ctx, since, "leases")
	p.figures[restCPU] = 100 * (after - used).Seconds() / took.Seconds()
	p.figures[restMemory] = mebibytes(float64(memory.Resident))
	p.figures[restRenewals] = float64(renewals) / took.Seconds()
	p.Say("at rest: %.1f %% of a core, %.0f MiB", p.figures[restCPU], p.figures[restMemory])
	return err
}

func mebibytes(bytes float64) float64 { return bytes / (1 << 20) }

// mostMemory takes the most memory that the subject ever had.
func (p *play) mostMemory(context.Context) error {
	memory, err := p.running.Last().Memory()
	if err != nil {
		return err
	}
	p.figures[peakMemory] = mebibytes(float64(memory.Peak))
	p.Say("at most: %.0f MiB", p.figures[peakMemory])
	return nil
}

// goroutine is the first line of a goroutine's trace.
var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\]:\r?$`)

// dump ends the subject so that it prints the traces of its goroutines.
func (p *play) dump(ctx context.Context) error {
	process := p.running.Last()
	if err := process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case <-process.Exited():
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end after SIGQUIT: %w", context.Cause(ctx))
	}
	log, err := os.ReadFile(process.LogFile())
	if err != nil {
		return err
	}
	found := len(goroutine.FindAll(log, -1))
	if found == 0 {
		return errors.New("the subject has printed no traces after SIGQUIT")
	}
	p.figures[goroutines] = float64(found)
	return nil
}
