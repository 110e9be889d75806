//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Command describes a program to start.
type Command struct {
	// Name is what messages call it. Empty means the base name of Path.
	Name string
	// Path is the executable. Required.
	Path string
	Args []string
	// Env is added to this process's own environment.
	Env []string
	// LogFile receives standard output and standard error; it is made, or written
	// over. Required.
	LogFile string
}

// Process is a running program that does not outlive this one (see the package
// comment for what systems promise). Its methods may be called concurrently.
type Process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	exited  chan struct{}
	err     error // what Wait returns; set before exited is closed
}

// StartProcess starts the command. It returns when the program runs, or an
// error when it cannot be executed.
func StartProcess(command Command) (*Process, error) {
	if command.Path == "" || command.LogFile == "" {
		return nil, errors.New("a Command needs Path and LogFile")
	}
	if command.Name == "" {
		command.Name = filepath.Base(command.Path)
	}
	// A file and not a pipe: what was written survives us, and nothing must copy
	// it.
	log, err := os.OpenFile(command.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the program has its own

	p := &Process{name: command.Name, logFile: command.LogFile, exited: make(chan struct{})}
	p.cmd = exec.Command(command.Path, command.Args...)
	p.cmd.Env = append(os.Environ(), command.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = processAttributes()

	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Name, err)
	}
	return p, nil
}

// run starts the program and stays until it has exited.
//
// Linux counts as the parent, whose death kills the program, the thread that
// started it, not the process. Go ends threads as it sees fit, so this
// goroutine keeps its thread to itself for as long as the program runs.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.exited)
}

// PID is the process id. It is reused by the system some time after the exit.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogFile is the path of the file with the program's output.
func (p *Process) LogFile() string { return p.logFile }

// Running says whether the program has not ended yet. A paused one runs.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Wait waits for the end of the program and returns nil if its exit status is
// 0, else an [exec.ExitError]. When ctx ends first it returns its cause; the
// program runs on.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CPUTime returns what all threads of the program have used until now, or until
// its end, user and system time together. While the program runs only Linux
// tells it: on other systems the error is then [errors.ErrUnsupported].
func (p *Process) CPUTime() (time.Duration, error) {
	if p.Running() {
		used, err := cpuTimeOf(p.PID())
		if !isGone(err) {
			return used, err
		}
		<-p.exited // it has ended meanwhile, and run is about to say so
	}
	state := p.cmd.ProcessState
	return state.UserTime() + state.SystemTime(), nil
}

// isGone reports whether /proc says that a process or a thread has ended.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// Memory is what a process has in the machine's memory, in bytes.
type Memory struct {
	// Resident is what it has now, Peak the most that it has had.
	Resident, Peak int64
}

// Memory returns what the program has, while it runs. After its end the error
// is [os.ErrProcessDone]. On systems other than Linux it is
// [errors.ErrUnsupported].
func (p *Process) Memory() (Memory, error) {
	if !p.Running() {
		return Memory{}, os.ErrProcessDone
	}
	memory, err := memoryOf(p.PID())
	if isGone(err) || err == nil && memory.Resident == 0 {
		return Memory{}, os.ErrProcessDone // it has ended, and run has not said so yet
	}
	return memory, err
}

// Signal sends a signal. After the exit it returns [os.ErrProcessDone].
func (p *Process) Signal(signal os.Signal) error {
	return p.cmd.Process.Signal(signal)
}

// Pause stops the program in its tracks with SIGSTOP and returns when it does
// nothing any more, or [os.ErrProcessDone] when it has ended. Pausing twice is
// pausing once. The signal alone is not enough. A thread that runs on another
// processor is interrupted a little later, and can answer a request until then.
// On systems other than Linux it is stopped some moments later.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for p.Running() {
		stopped, err := isStopped(p.PID())
		if stopped || err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return os.ErrProcessDone
}

// Resume lets a paused program run on. After its end the error is
// [os.ErrProcessDone].
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Kill ends the program with SIGKILL, also a paused one, and waits until it is
// gone. It does nothing after the exit.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // can only fail because it has exited
	<-p.exited
}

// Stop asks the program to end with SIGTERM, and kills it when it has not ended
// within grace. It wakes a paused one, which could not obey. It does nothing
// after the exit.
func (p *Process) Stop(grace time.Duration) {
	_ = p.Signal(syscall.SIGTERM)
	_ = p.Resume()
	select {
	case <-p.exited:
	case <-time.After(grace):
		p.Kill()
	}
}

// LogTail returns the last lines of the program's output, at most the given
// number, with a first line that says where the rest is.
func (p *Process) LogTail(lines int) string {
	log, err := os.ReadFile(p.logFile)
	if err != nil {
		return fmt.Sprintf("(the log of %s cannot be read: %v)", p.name, err)
	}
	all := strings.Split(strings.TrimRight(string(log), "\n"), "\n")
	last := all[max(0, len(all)-lines):]
	return fmt.Sprintf("last lines of %s:\n%s", p.logFile, strings.Join(last, "\n"))
}

const (
	readyPeriod  = 50 * time.Millisecond
	probeTimeout = 5 * time.Second
	tailLines    = 20
)

// waitReady calls probe until it returns nil, and gives it five seconds each
// time: a server may accept a connection and say nothing. It gives up when the
// process has exited or ctx has ended; its error then carries the end of the
// process's log.
func waitReady(ctx context.Context, process *Process, probe func(context.Context) error) error {
	err := wait.For(ctx, readyTimeout, readyPeriod, process.name+" to be ready",
		func(ctx context.Context) error {
			if !process.Running() {
				return wait.ErrEnded
			}
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			return probe(ctx)
		})
	switch {
	case errors.Is(err, wait.ErrEnded):
		return exitedEarly(process)
	case err != nil:
		return fmt.Errorf("%w\n%s", err, process.LogTail(tailLines))
	}
	return nil
}

// exitedEarly is the error of a process that ended instead of becoming ready.
// It wraps errPortTaken if that was the reason, which only the log tells.
func exitedEarly(process *Process) error {
	tail := process.LogTail(tailLines)
	reason := fmt.Errorf("%s ended before it was ready (%v)", process.name, process.cmd.ProcessState)
	if strings.Contains(tail, errPortTaken.Error()) {
		reason = fmt.Errorf("%w: %w", reason, errPortTaken)
	}
	return fmt.Errorf("%w\n%s", reason, tail)
}
