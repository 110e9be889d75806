package cri

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is what a runtime knows of a container. Any other string counts as
// StateUnknown.
type State string

const (
	// StateCreated: the container exists and has not been started.
	StateCreated State = "Created"
	// StateRunning: the container runs.
	StateRunning State = "Running"
	// StateExited: the container has ended and has an exit code.
	StateExited State = "Exited"
	// StateUnknown: the runtime cannot tell.
	StateUnknown State = "Unknown"
)

// Container is one run of a container of a pod. A restart makes another one.
type Container struct {
	ID    string
	Name  string
	Image string
	// Sandbox is the ID of the sandbox in which it was created.
	Sandbox string
	// Attempt is how many runs of the same name preceded it.
	Attempt int32

	State      State
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	// Reason and Message explain an exit: Completed, Error or OOMKilled.
	Reason, Message string
}

// Sandbox is the environment of a pod's containers, with its network.
type Sandbox struct {
	ID string
	// Attempt is how many sandboxes of the pod preceded it.
	Attempt uint32
	Ready   bool
	// HostNetwork tells that it has the network of the node, and no IP.
	HostNetwork bool
	IP          string
}

// Pod is what a runtime has of one pod. Both lists begin with the newest.
type Pod struct {
	UID        types.UID
	Node       string
	Sandboxes  []Sandbox
	Containers []Container
	// Busy tells that a plan is under way.
	Busy bool
}

// Latest returns the newest container of a name.
func (p *Pod) Latest(name string) (*Container, bool) {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i], true
		}
	}
	return nil, false
}

// SandboxReady reports whether the newest sandbox is ready.
func (p *Pod) SandboxReady() bool { return len(p.Sandboxes) > 0 && p.Sandboxes[0].Ready }

// LatestActive returns the newest container of a name in the newest sandbox, if
// that is ready.
func (p *Pod) LatestActive(name string) (*Container, bool) {
	if !p.SandboxReady() {
		return nil, false
	}
	for i := range p.Containers {
		if c := &p.Containers[i]; c.Name == name && c.Sandbox == p.Sandboxes[0].ID {
			return c, true
		}
	}
	return nil, false
}

// Running reports whether any container runs or may run.
func (p *Pod) Running() bool {
	for i := range p.Containers {
		if s := p.Containers[i].State; s != StateExited && s != StateCreated {
			return true
		}
	}
	return false
}
