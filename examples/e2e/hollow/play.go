package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A play is the script with a subject, on a control plane of its own. Its
// figures are those that it has come to, also after an error.
type play struct {
	options
	subject  subject
	program  program
	progress io.Writer

	cluster *cluster
	process *controlplane.Process // the first of the subject
	figures figures
	load    string
}

const (
	// app is the label of the pods that all come and go together.
	app = "web"
	// quiet is how long a subject may finish what it has begun.
	quiet = 3 * time.Second
)

// run plays the script.
func (p *play) run(ctx context.Context) (err error) {
	p.load = sidebyside.LoadAverage()
	dir := p.dir
	if dir != "" {
		dir = filepath.Join(dir, p.subject.name)
	}
	if p.cluster, err = newCluster(ctx, dir, p.nodes); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.stop()) }()
	processes, err := p.launch()
	defer func() {
		for _, process := range processes {
			process.Stop(stopGrace)
			if root := process.KubemarkRoot(); root != "" {
				err = errors.Join(err, os.RemoveAll(root))
			}
		}
	}()
	if err != nil {
		return err
	}
	p.process = processes[0]
	parts := []func(context.Context) error{p.start, p.bringUp, p.atRest, p.end, p.comeAndGo, p.mostMemory, p.dump}
	if p.subject.argsOf != nil {
		parts = []func(context.Context) error{p.start, p.bringUp, p.end, p.keepCalls}
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the processes of the subject, one or one for each node. Those
// that have started are returned with an error.
func (p *play) launch() (processes []*controlplane.Process, err error) {
	if p.subject.argsOf == nil {
		process, err := p.cluster.launch(p.subject.name, p.program.path, p.program.args...)
		if err != nil {
			return nil, err
		}
		return []*controlplane.Process{process}, nil
	}
	for i := range p.nodes {
		own, err := p.subject.argsOf(nodeName(i))
		if err != nil {
			return processes, err
		}
		args := append(slices.Clip(p.program.args), own...)
		process, err := p.cluster.launchAs(p.subject.name, nodeName(i), p.program.path, args...)
		if err != nil {
			return processes, err
		}
		processes = append(processes, process)
	}
	return processes, nil
}

// keepCalls leaves the figures that many processes have in common with one.
func (p *play) keepCalls(context.Context) error {
	maps.DeleteFunc(p.figures, func(f figure, _ float64) bool { return !f.isCalls() })
	return nil
}

// step does something, waits until it has the result that is wanted, and takes
// the time and the CPU time of the subject.
func (p *play) step(
	ctx context.Context, what string, seconds, cpu figure, act func(context.Context) error, missing func() error,
) error {
	used, err := p.process.CPUTime()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := act(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := await(ctx, p.process, what, func() (bool, error) { return true, missing() }); err != nil {
		return err
	}
	took := time.Since(begun)
	if err := wait.Pause(ctx, quiet); err != nil {
		return err
	}
	after, err := p.process.CPUTime()
	p.figures[seconds], p.figures[cpu] = took.Seconds(), (after - used).Seconds()
	p.say("%s: %.1f s, %.2f s of CPU", what, p.figures[seconds], p.figures[cpu])
	return err
}

// start waits until all nodes are ready and have a lease.
func (p *play) start(ctx context.Context) error {
	since := time.Now()
	err := p.step(ctx, "nodes ready", nodesSeconds, nodesCPU,
		func(context.Context) error { return nil },
		func() error { return p.cluster.haveReadyNodes(ctx, p.nodes) })
	if err != nil {
		return err
	}
	calls, err := p.calls(ctx, since, "*")
	p.figures[nodesCalls] = float64(calls) / float64(p.nodes)
	return err
}

// bringUp creates all pods and waits until they are ready.
func (p *play) bringUp(ctx context.Context) error {
	since := time.Now()
	if err := p.step(ctx, "pods ready", upSeconds, upCPU,
		func(ctx context.Context) error { return p.cluster.fill(ctx, app, p.pods, p.nodes) },
		func() error { return p.cluster.haveReady(app, p.pods) }); err != nil {
		return err
	}
	return p.countPodCalls(ctx, since, upCalls)
}

// end deletes all pods and waits until they are gone.
func (p *play) end(ctx context.Context) error {
	since := time.Now()
	if err := p.step(ctx, "pods gone", endSeconds, endCPU,
		func(ctx context.Context) error { return p.cluster.empty(ctx, app, p.pods) },
		func() error { return p.cluster.haveReady(app, 0) }); err != nil {
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
	p.figures[to] = float64(total) / float64(p.pods)
	return nil
}

// calls returns how many requests of the subject the API server has received.
func (p *play) calls(ctx context.Context, since time.Time, resource string) (int, error) {
	requests, err := p.cluster.plane.Requests(ctx, controlplane.Filter{
		User: p.subject.name, Resource: resource, Since: since,
	})
	return len(requests), err
}

// atRest measures while nothing happens but heartbeats.
func (p *play) atRest(ctx context.Context) error {
	since := time.Now()
	used, err := p.process.CPUTime()
	if err != nil {
		return err
	}
	if err := wait.Pause(ctx, p.rest); err != nil {
		return err
	}
	after, err := p.process.CPUTime()
	if err != nil {
		return err
	}
	took := time.Since(since)
	memory, err := p.process.Memory()
	if err != nil {
		return err
	}
	renewals, err := p.calls(ctx, since, "leases")
	p.figures[restCPU] = 100 * (after - used).Seconds() / took.Seconds()
	p.figures[restMemory] = mebibytes(float64(memory.Resident))
	p.figures[restRenewals] = float64(renewals) / took.Seconds()
	p.say("at rest: %.1f %% of a core, %.0f MiB", p.figures[restCPU], p.figures[restMemory])
	return err
}

func mebibytes(bytes float64) float64 { return bytes / (1 << 20) }

// mostMemory takes the most memory that the subject ever had.
func (p *play) mostMemory(context.Context) error {
	memory, err := p.process.Memory()
	if err != nil {
		return err
	}
	p.figures[peakMemory] = mebibytes(float64(memory.Peak))
	p.say("at most: %.0f MiB", p.figures[peakMemory])
	return nil
}

// goroutine is the first line of a goroutine's trace.
var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\]:\r?$`)

// dump ends the subject so that it prints the traces of its goroutines.
func (p *play) dump(ctx context.Context) error {
	if err := p.process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case <-p.process.Exited():
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end after SIGQUIT: %w", context.Cause(ctx))
	}
	log, err := os.ReadFile(p.process.LogFile())
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

func (p *play) say(format string, args ...any) {
	fmt.Fprintf(p.progress, "%s: %s\n", p.subject.name, fmt.Sprintf(format, args...))
}
