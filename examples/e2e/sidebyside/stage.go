package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// User is the name of each subject for the API server, and so in the audit log.
const User = "subject"

// A Stage is the control plane of a play, and the processes that run on it.
type Stage struct {
	// Subject is the one that plays.
	Subject Subject
	Plane   *controlplane.ControlPlane
	// Client is that of the script. It does not throttle.
	Client kubernetes.Interface

	programs  map[string]Program // by the name of the subject
	prefix    string             // of what it says
	dir       string             // where data stays; empty: nowhere
	progress  io.Writer
	processes []*Processes
}

// Say writes a line of progress.
func (s *Stage) Say(format string, args ...any) {
	fmt.Fprintf(s.progress, "%s  %s: %s\n", time.Now().Format(time.TimeOnly), s.prefix, fmt.Sprintf(format, args...))
}

// ClientOf returns the client of a user, on a connection of its own.
func (s *Stage) ClientOf(user string) (kubernetes.Interface, error) {
	config, err := s.Plane.UserConfig(user, "system:masters")
	if err != nil {
		return nil, err
	}
	return ProtobufClient(config, user)
}

// Launch starts the subject that plays, as User, with arguments besides its own.
func (s *Stage) Launch(args ...string) (*Processes, error) {
	return s.LaunchSubject(s.Subject, args...)
}

// LaunchSubject is Launch for one of several subjects that play together.
func (s *Stage) LaunchSubject(subject Subject, args ...string) (*Processes, error) {
	config, err := s.Plane.UserConfig(User, "system:masters")
	if err != nil {
		return nil, err
	}
	return s.LaunchWith(config, subject, args...)
}

// LaunchWith is LaunchSubject with another access to the API server.
func (s *Stage) LaunchWith(access *rest.Config, subject Subject, args ...string) (*Processes, error) {
	program := s.programs[subject.Name]
	return s.start(access, subject.Name, program.Path, append(append([]string{}, program.Args...), args...))
}

// LaunchProgram starts a program that is no subject, as a user of its name.
func (s *Stage) LaunchProgram(name, path string, args ...string) (*Processes, error) {
	config, err := s.Plane.UserConfig(name, "system:masters")
	if err != nil {
		return nil, err
	}
	return s.start(config, name, path, args)
}

func (s *Stage) start(access *rest.Config, name, path string, args []string) (*Processes, error) {
	kubeconfig, err := s.Plane.WriteKubeconfig(access)
	if err != nil {
		return nil, err
	}
	p := &Processes{dir: s.Plane.Dir(), command: controlplane.Command{
		Name: name, Path: path, Args: append([]string{"--kubeconfig=" + kubeconfig}, args...),
		// kwok would read more configuration from a folder in the user's home.
		Env: []string{"KWOK_WORKDIR=" + s.Plane.Dir()},
	}}
	for _, earlier := range s.processes {
		if earlier.command.Name == name {
			p.earlier += len(earlier.all)
		}
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return p, nil
}

// stop ends all processes and the control plane.
func (s *Stage) stop() error {
	for _, p := range s.processes {
		p.Stop()
	}
	return s.Plane.Stop()
}

// logTails returns the ends of the logs of all subjects.
func (s *Stage) logTails() string {
	var text strings.Builder
	for _, p := range s.processes {
		if p.command.Name == s.Subject.Name || s.programs[p.command.Name].Path != "" {
			text.WriteString("\n" + p.Last().LogTail(logTail))
		}
	}
	return text.String()
}

// Processes are those of one program: one after another when it is restarted,
// or several at a time of which the first leads. Its methods may be called
// concurrently, except those that start and end processes.
type Processes struct {
	command controlplane.Command
	dir     string
	earlier int // processes of that name, whose logs stay

	mu        sync.Mutex
	all       []*controlplane.Process
	dismissed map[*controlplane.Process]bool // those that may end
}

// stopGrace is how long a process may take to end by itself.
const stopGrace = 5 * time.Second

// Start starts another process, with a log of its own.
func (p *Processes) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	command := p.command
	command.LogFile = filepath.Join(p.dir, fmt.Sprintf("%s-%d.log", command.Name, p.earlier+len(p.all)+1))
	process, err := controlplane.StartProcess(command)
	if err == nil {
		p.all = append(p.all, process)
	}
	return err
}

func (p *Processes) list() []*controlplane.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// First returns the process that was started first, which leads at first.
func (p *Processes) First() *controlplane.Process { return p.list()[0] }

// Last returns the process that was started last.
func (p *Processes) Last() *controlplane.Process {
	all := p.list()
	return all[len(all)-1]
}

// Dismiss says that a process may end.
func (p *Processes) Dismiss(process *controlplane.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dismissed == nil {
		p.dismissed = map[*controlplane.Process]bool{}
	}
	p.dismissed[process] = true
}

// Restart kills the last process with SIGKILL and starts another.
func (p *Processes) Restart() error {
	last := p.Last()
	p.Dismiss(last)
	last.Kill()
	return p.Start()
}

// Alive returns wait.ErrEnded with the end of the log when a process has ended
// that may not.
func (p *Processes) Alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, process := range p.all {
		if !process.Running() && !p.dismissed[process] {
			return fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(logTail))
		}
	}
	return nil
}

// Until is wait.Until for as long as the processes run.
func (p *Processes) Until(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	return wait.Until(ctx, what, p.while(ask))
}

// For is wait.For for as long as the processes run.
func (p *Processes) For(
	ctx context.Context, patience, period time.Duration, what string, ask func(context.Context) (bool, error),
) error {
	return wait.For(ctx, patience, period, what, p.while(ask))
}

func (p *Processes) while(ask func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		if err := p.Alive(); err != nil {
			return false, err
		}
		return ask(ctx)
	}
}

// CPUTime returns what all processes have used, user and system.
func (p *Processes) CPUTime() (total time.Duration, err error) {
	for _, process := range p.list() {
		used, err := process.CPUTime()
		if err != nil {
			return 0, errors.Join(err, p.Alive())
		}
		total += used
	}
	return total, nil
}

// Stop ends the processes.
func (p *Processes) Stop() {
	for _, process := range p.list() {
		process.Stop(stopGrace)
	}
}
