package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

// RestTime is how long a cluster has after its last step until everything
// must be as it should be. Failed pods are replaced after up to 15 minutes.
const RestTime = 50 * time.Minute

// mostEvents is above what the longest scenario has. A controller that never
// rests would go on forever.
const mostEvents = 100_000

// ErrNeverRests means that far too much happened.
var ErrNeverRests = errors.New("the simulation did not come to rest")

// simulation is a scenario that is played.
type simulation struct {
	*cluster

	scenario *Scenario
	faults   faults
	process  *process
	halted   time.Duration // until when
}

// Run plays a scenario and returns what the API server has seen. The error is
// [ErrNeverRests] or about the scenario.
func Run(scenario *Scenario) (*invariant.History, error) {
	s := &simulation{
		cluster:  newCluster(scenario.Seed, kubelets),
		scenario: scenario,
	}
	s.history.PerSecond, s.history.Burst = scenario.PerSecond, scenario.Burst
	for node := range scenario.Nodes {
		s.addNode(Step{Node: node})
	}
	s.watching = func(change *invariant.Change) {
		if s.process != nil {
			s.process.told(change)
		}
	}
	if err := s.takeOver(0); err != nil {
		return nil, err
	}
	var quiet time.Duration
	actions := s.actions()
	for _, step := range scenario.Steps {
		do, known := actions[step.Do]
		if !known {
			return nil, fmt.Errorf("play scenario: there is no action %q", step.Do)
		}
		s.After(step.At, func() { do(step) })
		quiet = max(quiet, step.At+step.For)
	}
	// The second time is for what a watch that was late has led to.
	s.After(quiet+time.Second, s.heal)
	s.After(quiet+10*time.Minute, s.heal)
	rests := s.Run(quiet+RestTime, mostEvents)
	s.process.end()
	s.history.End = s.Now()
	if !rests {
		return s.history, ErrNeverRests
	}
	return s.history, nil
}

func (s *simulation) config() controller.Config {
	return controller.Config{
		Planner:     rollout.Config{Burst: s.scenario.PodBurst},
		Concurrency: s.scenario.Concurrency,
		Requests: controller.RequestBudget{
			PerSecond: rate.Limit(s.scenario.PerSecond), Burst: s.scenario.Burst,
		},
	}
}

// takeOver starts a process.
func (s *simulation) takeOver(age time.Duration) error {
	p, err := start(s.cluster, &s.faults, s.config(), age)
	if err != nil {
		return err
	}
	s.process = p
	if s.Elapsed() < s.halted {
		p.halt()
	}
	return nil
}

// heal has clients correct what would never become ready.
func (s *simulation) heal() {
	for _, set := range list[*appsv1.DaemonSet](s.cluster, invariant.Sets) {
		if strings.Contains(set.Spec.Template.Spec.Containers[0].Image, BrokenImage) {
			s.changeSet(set, func(set *appsv1.DaemonSet) { setImage(set, "agent:1") })
		}
	}
	for _, pod := range list[*corev1.Pod](s.cluster, invariant.Pods) {
		if strings.Contains(pod.Spec.Containers[0].Image, BrokenImage) {
			s.deletePod(pod) // with OnDelete the controller does not
		}
	}
	for _, node := range list[*corev1.Node](s.cluster, invariant.Nodes) {
		s.visitPods(node.Name)
	}
}
