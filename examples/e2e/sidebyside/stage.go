package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
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

	programs  map[string]Program // by the name of the subject or helper
	subjects  []Subject          // all that were chosen
	prefix    string             // of what it says
	dir       string             // where data stays; empty: nowhere
	progress  io.Writer
	processes []*Processes
	ends      []func() error
}

// Say writes a line of progress.
func (s *Stage) Say(format string, args ...any) {
	fmt.Fprintf(s.progress, "%s  %s: %s\n", time.Now().Format(time.TimeOnly), s.prefix, fmt.Sprintf(format, args...))
}

// Access returns the access of a user, who may do everything.
func (s *Stage) Access(user string) (*rest.Config, error) {
	return s.Plane.UserConfig(user, "system:masters")
}

// ProgramOf returns the program of a subject or helper.
func (s *Stage) ProgramOf(name string) Program { return s.programs[name] }

// Launch starts a subject, as User, or a helper, as the user of its name. It
// gets arguments besides its own.
func (s *Stage) Launch(name string, args ...string) (*Processes, error) {
	config, err := s.Access(s.userOf(name))
	if err != nil {
		return nil, err
	}
	return s.LaunchWith(config, name, args...)
}

// LaunchWith is Launch with another access to the API server.
func (s *Stage) LaunchWith(access *rest.Config, name string, args ...string) (*Processes, error) {
	kubeconfig, err := s.Plane.WriteKubeconfig(access)
	if err != nil {
		return nil, err
	}
	program := s.ProgramOf(name)
	p := &Processes{
		stage: s, user: s.userOf(name), dismissed: map[*controlplane.Process]bool{},
		command: controlplane.Command{
			Name: name, Path: program.Path,
			Args: slices.Concat([]string{"--kubeconfig=" + kubeconfig}, program.Args, args),
			// kwok would read more configuration from a folder in the user's home.
			Env: []string{"KWOK_WORKDIR=" + s.Plane.Dir()},
		},
	}
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

// Alive returns wait.ErrEnded when a process of any program has ended that may not.
func (s *Stage) Alive() error {
	for _, p := range s.processes {
		if err := p.alive(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) userOf(name string) string {
	if slices.ContainsFunc(s.subjects, func(subject Subject) bool { return subject.Name == name }) {
		return User
	}
	return name
}

// Done returns when the API server received the requests of subjects that it has
// carried out, in order, by the name of the object.
func (s *Stage) Done(ctx context.Context, filters ...controlplane.Filter) (map[string][]time.Time, error) {
	for i := range filters {
		filters[i].User = User
	}
	requests, err := s.Plane.Requests(ctx, filters...)
	received := map[string][]time.Time{}
	for _, r := range requests {
		if r.Succeeded() {
			received[r.Name] = append(received[r.Name], r.Received)
		}
	}
	return received, err
}

// AtEnd has something done when the processes have ended and the control plane
// still runs. What came last is done first.
func (s *Stage) AtEnd(do func() error) { s.ends = append(s.ends, do) }

// stop ends all processes and the control plane.
func (s *Stage) stop() (err error) {
	for _, p := range s.processes {
		p.Stop()
	}
	for _, do := range slices.Backward(s.ends) {
		err = errors.Join(err, do())
	}
	return errors.Join(err, s.Plane.Stop())
}

// logTails returns the ends of the logs of all subjects and helpers.
func (s *Stage) logTails() string {
	var text strings.Builder
	for _, p := range s.processes {
		text.WriteString("\n" + p.Last().LogTail(logTail))
	}
	return text.String()
}
