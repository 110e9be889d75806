package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// RestTime is how long a cluster has after its last step until everything
// must be as it should be. Failed pods are replaced after up to 15 minutes.
const RestTime = 50 * time.Minute

// mostEvents is above what the longest scenario has. A controller that never
// rests would go on forever.
const mostEvents = 150_000

// ErrNeverRests means that far too much happened.
var ErrNeverRests = errors.New("the simulation did not come to rest")

// simulation is a scenario that is played.
type simulation struct {
	*World

	random *rand.Rand
	past   *network.Past // from the beginning on
	halted time.Duration // until when
	// notNow and inPlace are the shares of tasks before which something else comes,
	// and of deletions in whose place running pods are updated.
	notNow, inPlace []*float64
}

// Run plays a scenario and returns what the API server has seen. The error is
// [ErrNeverRests] or about the scenario.
func Run(scenario *Scenario) (*invariant.History, error) {
	s := &simulation{World: newWorld(scenario.world())}
	s.random, s.past = s.Random("script"), s.Remember()
	s.wrap = s.asOtherKinds
	for node := range scenario.Nodes {
		s.addNode(Step{Node: node})
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	quiet, err := s.plan(scenario.Steps)
	if err != nil {
		return nil, err
	}
	// The second time is for what a watch that was late has led to.
	s.After(quiet+time.Second, s.heal)
	s.After(quiet+10*time.Minute, s.heal)
	rests := s.Timeline.Run(quiet+RestTime, mostEvents)
	s.end()
	if !rests {
		return s.History(), ErrNeverRests
	}
	return s.History(), nil
}

// world is the one in which it is played.
func (s *Scenario) world() WorldConfig {
	return WorldConfig{Seed: s.Seed, Kubelets: ofScenarios, Controller: controller.Config{
		Planner:     rollout.Config{Burst: s.PodBurst},
		Concurrency: s.Concurrency,
		Requests:    controller.RequestBudget{PerSecond: rate.Limit(s.PerSecond), Burst: s.Burst},
	}}
}

// plan plans the steps, and returns when the last of them is over.
func (s *simulation) plan(steps []Step) (quiet time.Duration, err error) {
	actions := s.actions()
	for _, step := range steps {
		do, known := actions[step.Do]
		if !known {
			return 0, fmt.Errorf("play scenario: there is no action %q", step.Do)
		}
		s.After(step.At, func() { do(step) })
		quiet = max(quiet, step.At+step.For)
	}
	return quiet, nil
}

// heal has clients correct what would never become ready.
func (s *simulation) heal() {
	for _, set := range s.Sets() {
		if strings.Contains(set.Spec.Template.Spec.Containers[0].Image, BrokenImage) {
			s.changeSet(set, func(set *appsv1.DaemonSet) { setImage(set, "agent:1") })
		}
	}
	for _, pod := range s.Pods() {
		if strings.Contains(pod.Spec.Containers[0].Image, BrokenImage) {
			s.DeletePod(pod.Name) // with OnDelete the controller does not
		}
	}
	for _, node := range s.Nodes() {
		s.kubelets.visit(node.Name)
	}
}
