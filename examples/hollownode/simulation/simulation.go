package simulation

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// RestTime is how long a cluster has after its last step, and what that delays,
// until everything must be as it should be. A crash loop waits for up to five
// minutes, and half more.
const RestTime = 12 * time.Minute

// mostEvents is above what the longest scenario has. A kubelet that never rests
// would go on forever.
const mostEvents = 300_000

// ErrNeverRests means that far too much happened.
var ErrNeverRests = errors.New("the simulation did not come to rest")

// simulation is a scenario that is played.
type simulation struct {
	*cluster

	faults   faults
	kubelets kubelets
	process  *process
	runtime  *recorder // nil while there is none
	runtimes int
	numbers  int
}

// newSimulation returns an empty cluster in which no process runs yet.
func newSimulation(seed uint64, kubelets kubelets) *simulation {
	s := &simulation{
		cluster:  newCluster(seed, time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)),
		kubelets: kubelets,
	}
	s.watching = func(kind invariant.Kind, change virtualtime.Change) {
		if s.process != nil {
			s.process.told(kind, change)
		}
	}
	return s
}

// workers is how many calls of a [Scenario] run at a time.
const workers = 16

// Run plays a scenario and returns what has happened. The error is
// [ErrNeverRests] or about the scenario.
func Run(scenario *Scenario) (*invariant.History, error) {
	s := newSimulation(scenario.Seed, kubelets{
		workers: workers, beats: func(p *process) (beats, error) { return newReports(p), nil },
	})
	for node := range scenario.Nodes {
		s.addNode(nodeName(node))
	}
	if err := s.takeOver(); err != nil {
		return nil, err
	}
	var quiet, end time.Duration
	actions := s.actions()
	for _, step := range scenario.Steps {
		do, known := actions[step.Do]
		if !known {
			return nil, fmt.Errorf("play scenario: there is no action %q", step.Do)
		}
		s.After(step.At, func() {
			if s.runtime != nil || step.Do != ActionCrash && step.Do != ActionCrashStatic {
				do(step)
			}
		})
		over := step.At + step.For
		quiet = max(quiet, over)
		if step.Do == ActionLoseEvents {
			over += longestRelist // what begins only when that is found has its time too
		}
		end = max(end, over+RestTime)
	}
	s.After(quiet+time.Second, s.heal)
	rests := s.Run(max(end, RestTime), mostEvents)
	s.end()
	if !rests {
		return s.history, ErrNeverRests
	}
	return s.history, nil
}

// takeOver starts a process, and a runtime if there is none.
func (s *simulation) takeOver() error {
	if s.runtime == nil {
		s.runtimes++
		var err error
		if s.runtime, err = newRecorder(s.Now(), s.history, s.runtimes); err != nil {
			return fmt.Errorf("start a runtime: %w", err)
		}
		if network := s.kubelets.network; network != "" {
			if err := s.runtime.SetPodNetwork(network); err != nil {
				return fmt.Errorf("start a runtime: %w", err)
			}
		}
	}
	for _, node := range list[*corev1.Node](s.cluster, invariant.Nodes) {
		s.history.Starts = append(s.history.Starts, invariant.Start{Node: node.Name, At: s.Now()})
	}
	p, err := start(s.cluster, &s.faults, s.runtime, s.kubelets)
	if err != nil {
		return err
	}
	s.process = p
	return nil
}

// end ends the process, the runtime and the history.
func (s *simulation) end() {
	s.process.end()
	s.runtime.end(s.Now())
	s.history.End = s.Now()
}

// heal has clients take off what would last: steps of one kind can cut each
// other short, or begin while a node is away.
func (s *simulation) heal() {
	for _, node := range list[*corev1.Node](s.cluster, invariant.Nodes) {
		s.changeNode(node.Name, func(node *corev1.Node) { node.Annotations = lasting(node.Annotations) })
	}
}
