package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Processes are those of one program: one after another when it is restarted,
// or several at a time of which the first leads. Looks and waits may be
// concurrent, and nothing else.
type Processes struct {
	stage   *Stage
	user    string // for the API server
	command controlplane.Command
	earlier int // processes of that name, whose logs stay

	all       []*controlplane.Process
	dismissed map[*controlplane.Process]bool // those that may end
}

const (
	// stopGrace is how long a process may take to end by itself.
	stopGrace = 5 * time.Second
	// logTail is how many lines of a log follow the error of a play.
	logTail = 20
)

// Start starts another process, with a log of its own.
func (p *Processes) Start() error {
	command := p.command
	command.LogFile = filepath.Join(p.stage.Plane.Dir(),
		fmt.Sprintf("%s-%d.log", command.Name, p.earlier+len(p.all)+1))
	process, err := controlplane.StartProcess(command)
	if err == nil {
		p.all = append(p.all, process)
	}
	return err
}

// First returns the process that was started first, which leads at first.
func (p *Processes) First() *controlplane.Process { return p.all[0] }

// Last returns the process that was started last.
func (p *Processes) Last() *controlplane.Process { return p.all[len(p.all)-1] }

// Dismiss says that a process may end.
func (p *Processes) Dismiss(process *controlplane.Process) { p.dismissed[process] = true }

// Restart kills the last process with SIGKILL and starts another.
func (p *Processes) Restart() error {
	last := p.Last()
	p.Dismiss(last)
	last.Kill()
	return p.Start()
}

// Stop ends the processes.
func (p *Processes) Stop() {
	for _, process := range p.all {
		p.Dismiss(process)
		process.Stop(stopGrace)
	}
}

// alive returns wait.ErrEnded with the end of the log when a process has ended
// that may not.
func (p *Processes) alive() error {
	for _, process := range p.all {
		if !process.Running() && !p.dismissed[process] {
			return fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(logTail))
		}
	}
	return nil
}

// Until waits until nothing is missing, for as long as all processes of the play run.
func (p *Processes) Until(ctx context.Context, what string, missing func(context.Context) error) error {
	return p.For(ctx, wait.Patience, wait.LookPeriod, what, missing)
}

// For is Until with another bound and another time between looks.
func (p *Processes) For(
	ctx context.Context, patience, period time.Duration, what string, missing func(context.Context) error,
) error {
	return wait.For(ctx, patience, period, what, func(ctx context.Context) error {
		if err := p.stage.Alive(); err != nil {
			return err
		}
		return missing(ctx)
	})
}

// Costs are what processes have used while something was done.
type Costs struct {
	// CPU is of all processes, user and system, Took the time that it is about.
	CPU, Took time.Duration
	// Calls are their requests about resources that the API server has received.
	Calls []controlplane.Request
}

// Costs returns what the processes have used while something was done.
func (p *Processes) Costs(ctx context.Context, do func() error) (Costs, error) {
	all, err := CostsOf(ctx, do, p)
	return all[0], err
}

// CostsOf returns what each of several programs has used while something was
// done.
func CostsOf(ctx context.Context, do func() error, programs ...*Processes) ([]Costs, error) {
	all := make([]Costs, len(programs))
	for i, p := range programs {
		used, err := p.cpuTime()
		if err != nil {
			return all, err
		}
		all[i].CPU = -used
	}
	begun := time.Now()
	if err := do(); err != nil {
		return all, err
	}
	took := time.Since(begun)
	for i, p := range programs {
		used, err := p.cpuTime()
		if err != nil {
			return all, err
		}
		all[i].CPU, all[i].Took = all[i].CPU+used, took
	}
	for i, p := range programs {
		var err error
		all[i].Calls, err = p.stage.Plane.Requests(ctx, controlplane.Filter{User: p.user, Resource: "*", Since: begun})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// cpuTime returns what all processes have used, user and system.
func (p *Processes) cpuTime() (total time.Duration, err error) {
	for _, process := range p.all {
		used, err := process.CPUTime()
		if err != nil {
			return 0, errors.Join(err, p.alive())
		}
		total += used
	}
	return total, nil
}

// Share is how much of a core was used, in percent.
func (c Costs) Share() float64 { return 100 * c.CPU.Seconds() / c.Took.Seconds() }

// CallsThat is how many of the calls are of a kind.
func (c Costs) CallsThat(are func(controlplane.Request) bool) (n float64) {
	for _, r := range c.Calls {
		if are(r) {
			n++
		}
	}
	return n
}

// CallsAbout is how many of the calls are about some resources, written as in
// RBAC.
func (c Costs) CallsAbout(resources ...string) float64 {
	return c.CallsThat(func(r controlplane.Request) bool { return slices.Contains(resources, r.FullResource()) })
}
